// One script without imports, readable, so that a change of it can be read in review.
export default {
  build: {
    target: "es2020",
    minify: false,
    emptyOutDir: true,
    outDir: "dist",
    lib: { entry: "src/report.ts", formats: ["iife"], name: "steadfast", fileName: () => "report.js" },
  },
};
