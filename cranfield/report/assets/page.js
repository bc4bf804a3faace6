"use strict";
(function () {
  function value(row, place) {
    const cell = row.cells[place];
    if (cell === undefined) return { number: NaN, text: "" };
    const text = cell.textContent.trim();
    const given = cell.dataset.value !== undefined ? cell.dataset.value : text.replace(/[,\u2009%]/g, "");
    return { number: given === "" ? NaN : Number(given), text: text };
  }

  function compare(a, b, falling) {
    const sign = falling ? -1 : 1;
    if (!Number.isNaN(a.number) && !Number.isNaN(b.number)) return sign * (a.number - b.number);
    if (!Number.isNaN(a.number)) return -1;
    if (!Number.isNaN(b.number)) return 1;
    if (a.text === "" || b.text === "") return a.text === b.text ? 0 : a.text === "" ? 1 : -1;
    return sign * a.text.localeCompare(b.text, undefined, { numeric: true });
  }

  function sort(table, heading) {
    const place = heading.cellIndex;
    const current = heading.getAttribute("aria-sort");
    const falling = current === null ? heading.classList.contains("number") : current === "ascending";
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [value(row, place), row]);
    rows.sort((first, second) => compare(first[0], second[0], falling));
    body.append(...rows.map((pair) => pair[1]));
  }

  function filter(box, table) {
    const words = box.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      const hit = words.every((word) => text.includes(word));
      row.hidden = !hit;
      if (hit) shown += 1;
    }
    const status = box.querySelector("[role=status]");
    status.textContent = words.length ? shown + " of " + table.tBodies[0].rows.length + " rows" : "";
  }

  for (const box of document.querySelectorAll(".table")) {
    const table = box.querySelector("table");
    if (table.classList.contains("named")) continue;
    for (const heading of table.tHead.rows[0].cells) {
      if (heading.classList.contains("range")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      heading.replaceChildren(button);
      button.addEventListener("click", () => sort(table, heading));
    }
    const field = box.querySelector(".filter input");
    if (field) field.addEventListener("input", () => filter(box, table));
  }
  // On paper nothing can be opened: short folds are, long ones would fill hundreds of pages.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    const folds = Array.from(document.querySelectorAll("details"));
    const long = folds.filter((part) => part.querySelectorAll("tr").length > 600);
    opened = folds.filter((part) => !part.open && !long.some((whole) => whole.contains(part)));
    for (const part of opened) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const part of opened) part.open = false;
    opened = [];
  });
})();
