/** `npm run freeze`: makes the frozen deciders of their sources. With `--release` they are released, and never change again. */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { BUNDLE_DIRECTORY, bundleName } from '../../services/audit/deciders/deciders.ts';
import { sha256Hex } from '../../services/shared/ids.ts';
import { bundleDecider } from './bundle.ts';
import { type CorpusCase, questionOf, readCorpus } from './corpus.ts';
import { readHashes, readOutputs, writeHashes, writeOutputs } from './frozen-files.ts';
import { SOURCE_DECIDERS, type SourceDecider } from './source-deciders.ts';

function outputHashes({ topic, decide }: SourceDecider, corpus: readonly CorpusCase[]) {
  const own = corpus.filter((recorded) => recorded.topic === topic);
  return Object.fromEntries(
    own.map((recorded) => {
      const { bytes, position, policies } = questionOf(recorded);
      return [recorded.name, sha256Hex(decide(bytes, position, policies))];
    }),
  );
}

async function freeze(released: boolean): Promise<void> {
  const corpus = readCorpus();
  const hashes = readHashes();
  const outputs = readOutputs();
  for (const decider of SOURCE_DECIDERS) {
    const name = bundleName(decider.name, decider.version);
    if (hashes[name]?.released === true) {
      process.stdout.write(`${name}  released: stays as it is\n`);
      continue;
    }
    const code = await bundleDecider(decider.name);
    writeFileSync(new URL(`${name}.mjs`, BUNDLE_DIRECTORY), code);
    hashes[name] = { sha256: sha256Hex(code), released };
    outputs[name] = outputHashes(decider, corpus);
    process.stdout.write(`${name}  ${code.length} bytes${released ? ', released' : ''}\n`);
  }
  writeHashes(hashes);
  writeOutputs(outputs);
}

const { values } = parseArgs({ options: { release: { type: 'boolean', default: false } } });
await freeze(values.release);
