/** `node test/support/toolchain/main.ts [part …]` prepares what the container suites need, by hand. */
import { ALL_NEEDS, ensureToolchain, isNeed } from './toolchain.ts';

const asked = process.argv.slice(2);
const unknown = asked.filter((part) => !isNeed(part));
if (unknown.length > 0) {
  process.stderr.write(`unknown part: ${unknown.join(', ')}; known: ${ALL_NEEDS.join(', ')}\n`);
  process.exitCode = 2;
} else {
  const needs = asked.filter(isNeed);
  await ensureToolchain(needs.length > 0 ? needs : ALL_NEEDS).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
