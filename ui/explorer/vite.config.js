// The explorer's page: one script without imports and one style sheet, readable, so that a change
// of them can be read in review. Their first line has the digest of the sources that they are made
// of: a test of the explorer crate compares it with the files.
import { copyFileSync, readdirSync, readFileSync } from "node:fs";

function digest() {
  let hash = 0xcbf29ce484222325n;
  for (const directory of ["explorer/src", "src"]) {
    for (const name of readdirSync(directory).sort()) {
      for (const byte of readFileSync(`${directory}/${name}`))
        hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
    }
  }
  return hash.toString(16).padStart(16, "0");
}

export default {
  plugins: [
    {
      name: "digest",
      enforce: "post",
      generateBundle(_, bundle) {
        const made = `Made of ui/explorer ${digest()} by make ui. Includes uPlot (MIT license, github.com/leeoniya/uPlot).`;
        for (const part of Object.values(bundle)) {
          if (part.type === "chunk") part.code = `// ${made}\n${part.code}`;
          else part.source = `/* ${made} */\n${part.source}`;
        }
      },
      closeBundle() {
        copyFileSync("explorer/src/index.html", "explorer/dist/index.html");
      },
    },
  ],
  build: {
    target: "es2020",
    minify: false,
    cssMinify: false,
    emptyOutDir: true,
    outDir: "explorer/dist",
    lib: { entry: "explorer/src/main.ts", formats: ["iife"], name: "steadfastExplorer", fileName: () => "explorer.js" },
    rollupOptions: { output: { assetFileNames: "explorer.css" } },
  },
};
