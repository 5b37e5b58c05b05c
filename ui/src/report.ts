/** What makes a report answer to its reader. Without it the report is complete, and still. */
import { chartOf, linked, type Chart } from "./chart";
import { sortable } from "./table";
import { themeButton } from "./theme";

const figures = [...document.querySelectorAll<HTMLElement>("figure.chart")];
linked(figures.map(chartOf).filter((chart): chart is Chart => chart !== undefined));
document.querySelectorAll<HTMLTableElement>("table.values").forEach(sortable);
document.querySelector("section.cover")?.append(themeButton());
document.documentElement.dataset["interactive"] = "yes";
