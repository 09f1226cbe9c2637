"""Works on methods that pages and docstrings cite by their authors and the year."""

WORKS = {
    "Aldous and Shepp 1987": (
        "D. Aldous, L. Shepp, The least variable phase type distribution is Erlang. Stochastic "
        "Models 3 (1987)."
    ),
    "Azar et al. 2018": (
        "Y. Azar, E. Horvitz, E. Lubetzky, Y. Peres, D. Shahaf, Tractable near-optimal policies "
        "for crawling. PNAS 115 (2018)."
    ),
    "Baccelli and Hébuterne 1981": (
        "F. Baccelli, G. Hébuterne, On queues with impatient customers. Performance '81, "
        "North-Holland, Amsterdam (1981)."
    ),
    "Baskett, Chandy, Muntz and Palacios 1975": (
        "F. Baskett, K. M. Chandy, R. R. Muntz, F. G. Palacios, Open, closed, and mixed networks "
        "of queues with different classes of customers. J. ACM 22 (1975)."
    ),
    "Bodrog et al. 2008": (
        "L. Bodrog, A. Heindl, G. Horváth, M. Telek, A Markovian canonical form of second-order "
        "matrix-exponential processes. European Journal of Operational Research 190 (2008)."
    ),
    "Brandt and Brandt 1999": (
        "A. Brandt, M. Brandt, On the M(n)/M(n)/s queue with impatient calls. Performance "
        "Evaluation 35 (1999)."
    ),
    "Brown et al. 2002": (
        "E. N. Brown, R. Barbieri, V. Ventura, R. E. Kass, L. M. Frank, The time-rescaling theorem "
        "and its application to neural spike train data analysis. Neural Computation 14 (2002)."
    ),
    "Chernozhukov, Chetverikov and Kato 2013": (
        "V. Chernozhukov, D. Chetverikov, K. Kato, Gaussian approximations and multiplier "
        "bootstrap for maxima of sums of high-dimensional random vectors. Annals of Statistics "
        "41 (2013)."
    ),
    "Cho and Garcia-Molina 2003": (
        "J. Cho, H. Garcia-Molina, Estimating frequency of change. ACM Transactions on Internet "
        "Technology 3 (2003)."
    ),
    "Cox and Lewis 1966": (
        "D. R. Cox, P. A. W. Lewis, The statistical analysis of series of events. Methuen, London "
        "(1966)."
    ),
    "Dinkelbach 1967": (
        "W. Dinkelbach, On nonlinear fractional programming. Management Science 13 (1967)."
    ),
    "Eckman and Henderson 2021": (
        "D. J. Eckman, S. G. Henderson, Fixed-confidence, fixed-tolerance guarantees for "
        "ranking-and-selection procedures. ACM Transactions on Modeling and Computer Simulation 31 "
        "(2021)."
    ),
    "Grassmann, Taksar and Heyman 1985": (
        "W. K. Grassmann, M. I. Taksar, D. P. Heyman, Regenerative analysis and steady state "
        "distributions for Markov chains. Operations Research 33 (1985)."
    ),
    "Falin and Templeton 1997": (
        "G. I. Falin, J. G. C. Templeton, Retrial Queues. Chapman and Hall, London (1997)."
    ),
    "Greenwood 1946": (
        "M. Greenwood, The statistical study of infectious diseases. J. Royal Statistical Society "
        "109 (1946)."
    ),
    "Johnson and Taaffe 1989": (
        "M. A. Johnson, M. R. Taaffe, Matching moments to phase distributions: mixtures of Erlang "
        "distributions of common order. Stochastic Models 5 (1989)."
    ),
    "Kass and Raftery 1995": "R. E. Kass, A. E. Raftery, Bayes factors. JASA 90 (1995).",
    "Kim and Nelson 2001": (
        "S.-H. Kim, B. L. Nelson, A fully sequential procedure for indifference-zone selection in "
        "simulation. ACM Transactions on Modeling and Computer Simulation 11 (2001)."
    ),
    "Kolobov, Peres, Lu and Horvitz 2019": (
        "A. Kolobov, Y. Peres, C. Lu, E. Horvitz, Staying up to date with online content changes "
        "using reinforcement learning for scheduling. NeurIPS (2019)."
    ),
    "Lancaster 1961": (
        "H. O. Lancaster, Significance tests in discrete distributions. JASA 56 (1961)."
    ),
    "Lavenberg and Reiser 1980": (
        "S. S. Lavenberg, M. Reiser, Stationary state probabilities at arrival instants for closed "
        "queueing networks with multiple types of customers. J. Appl. Prob. 17 (1980)."
    ),
    "Lilliefors 1969": (
        "H. W. Lilliefors, On the Kolmogorov-Smirnov test for the exponential distribution with "
        "mean unknown. JASA 64 (1969)."
    ),
    "Loader 2000": "C. Loader, Fast and accurate computation of binomial probabilities (2000).",
    "Monks et al. 2019": (
        "T. Monks, C. S. M. Currie, B. S. Onggo, S. Robinson, M. Kunc, S. J. E. Taylor, "
        "Strengthening the reporting of empirical simulation studies: introducing the STRESS "
        "guidelines. Journal of Simulation 13 (2019)."
    ),
    "Moran 1951": (
        "P. A. P. Moran, The random division of an interval, part II. J. Royal Statistical Society "
        "B 13 (1951)."
    ),
    "Nelson, Swann, Goldsman and Song 2001": (
        "B. L. Nelson, J. Swann, D. Goldsman, W. Song, Simple procedures for selecting the best "
        "simulated system when the number of alternatives is large. Operations Research 49 (2001)."
    ),
    "Otsu 1979": (
        "N. Otsu, A threshold selection method from gray-level histograms. IEEE Transactions on "
        "Systems, Man, and Cybernetics 9 (1979)."
    ),
    "Paulson 1964": (
        "E. Paulson, A sequential procedure for selecting the population with the largest mean "
        "from k normal populations. Annals of Mathematical Statistics 35 (1964)."
    ),
    "Puterman 1994": "M. L. Puterman, Markov decision processes. Wiley, New York (1994).",
    "Sevcik and Mitrani 1981": (
        "K. C. Sevcik, I. Mitrani, The distribution of queuing network states at input and output "
        "instants. J. ACM 28 (1981)."
    ),
    "Stephens 1974": (
        "M. A. Stephens, EDF statistics for goodness of fit and some comparisons. JASA 69 (1974)."
    ),
    "Thümmler et al. 2006": (
        "A. Thümmler, P. Buchholz, M. Telek, A novel approach for phase-type fitting with the EM "
        "algorithm. IEEE Transactions on Dependable and Secure Computing 3 (2006)."
    ),
    "Tijms 2003": "H. C. Tijms, A first course in stochastic models. Wiley, Chichester (2003).",
    "Villén-Altamirano and Villén-Altamirano 1991": (
        "M. Villén-Altamirano, J. Villén-Altamirano, RESTART: a method for accelerating rare event "
        "simulations. In: Queueing, Performance and Control in ATM, ITC-13, North-Holland (1991)."
    ),
    "Welch 1964": (
        "P. D. Welch, On a generalized M/G/1 queuing process in which the first customer of each "
        "busy period receives exceptional service. Operations Research 12 (1964)."
    ),
    "Woodruff 1952": (
        "R. S. Woodruff, Confidence intervals for medians and other position measures. JASA 47 "
        "(1952)."
    ),
    "Yadin and Naor 1963": (
        "M. Yadin, P. Naor, Queueing systems with a removable service station. Operational "
        "Research Quarterly 14 (1963)."
    ),
}
"""As the pages cite them, in alphabetical order, and in full."""
