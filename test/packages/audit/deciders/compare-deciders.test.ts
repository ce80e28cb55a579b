import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BUNDLE_DIRECTORY, bundleName } from '../../../../packages/audit/deciders/deciders.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { compareDeciders, differenceLines } from './compare-deciders.ts';
import { questionOf, readCorpus } from './corpus.ts';
import { SOURCE_DECIDERS } from './source-deciders.ts';

/** The decider of now beside its bundle with a change in its text. */
async function compared(name: string, change: (code: string) => string) {
  const decider = SOURCE_DECIDERS.find((each) => each.name === name);
  const file = `${bundleName(name, decider?.version ?? '')}.mjs`;
  const code = readFileSync(new URL(file, BUNDLE_DIRECTORY), 'utf8');
  const planted = change(code);
  expect(planted).not.toBe(code);
  const before = join(temporaryDirectory(), file);
  writeFileSync(before, planted);
  const [found] = await compareDeciders({ before, deciders: [name], runs: 30, seed: 1, tell: () => {} });
  if (found === undefined) throw new Error(`${name} was not compared`);
  return found;
}

test.each(SOURCE_DECIDERS.map(({ name }) => name))(
  '%s gives the same bytes as a bundle that means the same',
  async (name) => {
    const { difference, ...counts } = await compared(name, (code) => `// An earlier commit.\n${code}`);
    expect(difference).toBeNull();
    expect(counts.arbitrary).toBeGreaterThanOrEqual(30);
    expect(counts.recorded).toBeGreaterThanOrEqual(10);
    expect(counts.orders).toBeGreaterThan(0);
    expect(counts.refused).toBe(0);
  },
);

test.each(SOURCE_DECIDERS.map(({ name }) => name))(
  'a bundle of %s is found in which nothing but the hash of records differs',
  async (name) => {
    // One blank more in what is hashed: the list of the record and of what follows from it.
    const found = await compared(name, (code) => code.replace('(`[${[`', '(` [${[`'));
    expect(found.difference).not.toBeNull();
    const { before = '', now = '' } = found.difference ?? {};
    const withoutHash = (text: string): string => text.replaceAll(/"outputSha256":"\w{64}"/g, '');
    expect(withoutHash(before)).toBe(withoutHash(now));
    expect(differenceLines(found)[0]).toContain(`${name} differs for {`);
  },
);

test('a bundle is found that passes messages over in another word', async () => {
  const { difference } = await compared('image-gc', (code) =>
    code.replaceAll('outcome:`overtaken`', 'outcome:`overtook`'),
  );
  expect(difference?.case).toHaveProperty('newer');
});

test('a bundle is found that differs for what was never recorded', async () => {
  const recorded = JSON.stringify(readCorpus().map((each) => questionOf(each).position.sha256));
  const found = await compared('graph-gc', (code) =>
    code.replace(
      /export\{(\w+) as decide,/,
      (_, decide) =>
        `const planted=(e,p,s)=>${recorded}.includes(p.sha256)?${decide}(e,p,s):[];export{planted as decide,`,
    ),
  );
  expect(found.difference).toMatchObject({ before: '[]', case: { name: 'arbitrary' } });
});
