(() => {
  const cases = [...document.querySelectorAll(".case")];
  const fields = ["words", "verdict", "tag", "change"].map((id) => document.getElementById(id));
  const [words, verdict, tag, change] = fields.map((field) => () => (field ? field.value : ""));
  const fits = (one) =>
    (!verdict() || one.dataset.verdict === verdict()) &&
    (!tag() || one.dataset.tags.split("\n").includes(tag())) &&
    (!change() || one.dataset.change === change()) &&
    one.textContent.toLowerCase().includes(words().toLowerCase());
  const show = () => {
    for (const one of cases) one.hidden = !fits(one);
    const shown = cases.filter((one) => !one.hidden).length;
    document.getElementById("count").value = `${shown} of ${cases.length}`;
  };
  document.querySelector(".filter").hidden = false;
  for (const field of fields) field?.addEventListener("input", show);
  show();
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll(".case.bad:not([hidden])")) one.open = true;
  });
})();
