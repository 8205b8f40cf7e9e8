// Validates WGSL: `node naga_check.mjs FOLDER MODULE` reads every FOLDER/*.wgsl and prints, for each
// that naga refuses, its name and why. MODULE is the entry of the npm package naga-wasm.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, entry] = process.argv.slice(2);
const { parseWgsl, validate } = await import(pathToFileURL(entry).href);
let refused = 0;
for (const name of readdirSync(folder).filter((n) => n.endsWith(".wgsl")).sort()) {
  try {
    const module = parseWgsl(readFileSync(join(folder, name), "utf8"));
    validate(module).free();
    module.free();
  } catch (error) {
    refused += 1;
    console.log(`${name}: ${error.formatted ?? error}`);
  }
}
process.exit(refused ? 1 : 0);
