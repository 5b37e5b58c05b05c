/** Makes a report page interactive. Without this script the page is complete. */
import { chartOf, linkCharts, type Chart } from "./chart";
import { makeSortable } from "./table";
import { themeButton } from "./theme";

const figures = [...document.querySelectorAll<HTMLElement>("figure.chart")];
linkCharts(figures.map(chartOf).filter((chart): chart is Chart => chart !== undefined));
document.querySelectorAll<HTMLTableElement>("table.values").forEach(makeSortable);
document.querySelector("section.cover")?.append(themeButton());
document.documentElement.dataset["interactive"] = "yes";
