"use strict";
fetch("api/meta").then((answer) => answer.json()).then((meta) => {
  document.getElementById("explorer").textContent = meta.items.map((item) => item.name).join(", ");
});
