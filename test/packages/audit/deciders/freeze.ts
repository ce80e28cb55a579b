/** `npm run freeze`: makes the frozen deciders of their sources. With `--release` they are released, and never change again. */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { BUNDLE_DIRECTORY, bundleName, findDecider } from '../../../../packages/audit/deciders/deciders.ts';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { bundleDecider, bundleReader } from './bundle.ts';
import { answerTo, answerToOvertaking, questionOf, readCorpus, readOvertaking } from './corpus.ts';
import { type Outputs, readHashes, writeHashes, writeOutputs } from './frozen-files.ts';
import { SOURCE_DECIDERS, type SourceDecider } from './source-deciders.ts';

/** By the name of each case of its topic: the SHA-256 of what a decider gives. */
function outputHashes({
  topic,
  ...decider
}: Pick<SourceDecider, 'topic' | 'read' | 'decide' | 'passOver'>): Record<string, string> {
  const isOwn = (recorded: { readonly topic: string }): boolean => recorded.topic === topic;
  const answers = [
    ...corpus
      .filter(isOwn)
      .map((recorded) => [recorded.name, answerTo(questionOf(recorded), decider)] as const),
    ...overtaking
      .filter(isOwn)
      .map((recorded) => [recorded.name, answerToOvertaking(recorded, decider)] as const),
  ];
  return Object.fromEntries(answers.map(([name, answer]) => [name, sha256Hex(answer)]));
}

/** Released bundles answer for themselves: the corpus may be another than at their release. */
async function releasedOutputs(bundle: string): Promise<Record<string, string>> {
  const source = SOURCE_DECIDERS.find(({ name }) => bundle.startsWith(`${name}-`));
  const frozen = source && (await findDecider(source.name, bundle.slice(source.name.length + 1)));
  if (!source || !frozen) throw new Error(`${bundle} is in hashes.json, and no decider`);
  const { read, decide, passOver } = frozen;
  return outputHashes({ topic: source.topic, read, decide, passOver });
}

async function freezeSource(decider: SourceDecider, bundle: string): Promise<string> {
  const code = await bundleDecider(decider.name);
  writeFileSync(new URL(`${bundle}.mjs`, BUNDLE_DIRECTORY), code);
  process.stdout.write(`${bundle}  ${code.length} bytes${values.release ? ', released' : ''}\n`);
  return sha256Hex(code);
}

const { values } = parseArgs({ options: { release: { type: 'boolean', default: false } } });
const corpus = readCorpus();
const overtaking = readOvertaking();
const hashes = readHashes();
const outputs: Outputs = {};
for (const [bundle, { released }] of Object.entries(hashes)) {
  if (!released) continue;
  outputs[bundle] = await releasedOutputs(bundle);
  process.stdout.write(`${bundle}  released: stays as it is\n`);
}
for (const decider of SOURCE_DECIDERS) {
  const bundle = bundleName(decider.name, decider.version);
  if (hashes[bundle]?.released === true) continue;
  const reader = sha256Hex(await bundleReader(decider.topic));
  hashes[bundle] = { sha256: await freezeSource(decider, bundle), reader, released: values.release };
  outputs[bundle] = outputHashes(decider);
}
writeHashes(hashes);
writeOutputs(outputs);
