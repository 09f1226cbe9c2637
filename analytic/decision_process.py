"""What `analytic.machinery.decision_process` solves, under the name that was published first."""

from analytic.machinery.decision_process import DecisionProcess, policy_iteration

__all__ = ["DecisionProcess", "policy_iteration"]
