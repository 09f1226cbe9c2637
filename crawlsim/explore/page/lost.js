// A link with a token of another server: the address that is pasted opens with all else that the link says.

const field = document.getElementById("address");

field.addEventListener("input", () => field.setCustomValidity(""));
document.getElementById("found").addEventListener("submit", (submit) => {
  submit.preventDefault();
  const printed = new URL(field.value);
  if (!["127.0.0.1", "localhost"].includes(printed.hostname)) {
    field.setCustomValidity("The address begins with http://127.0.0.1.");
    field.reportValidity();
    return;
  }
  const query = new URLSearchParams(location.search);
  query.set("token", printed.searchParams.get("token") ?? "");
  location.assign(`http://${printed.host}/?${query}`);
});
