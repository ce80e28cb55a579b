import fc from 'fast-check';
import { expect, test } from 'vitest';
import { containerGcHandler } from '../../../../packages/deciders/container-gc/decider.ts';
import {
  ContainerRemoval,
  MAX_COMMAND_BYTES,
  MAX_COMMAND_ITEMS,
} from '../../../../schemas/events/command.ts';
import { type CompleteInventory, Inventory } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import { input } from '../../../fixtures/input.ts';
import {
  container,
  gonePod,
  inventory,
  logSymlink,
  podLogDirectory,
  sandbox,
} from '../../../fixtures/inventory.ts';
import { policySet } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { verdictsOf } from '../../../fixtures/verdicts.ts';
import { runs } from '../../../support/property-runs.ts';

/** How many of each kind may go. */
interface Counts {
  readonly containers: number;
  readonly sandboxes: number;
  readonly directories: number;
  readonly links: number;
}

const GONE = podUid(0);
const ofGonePod = { pod: { uid: GONE, name: 'web', namespace: 'default' } };

function podUid(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

/** All of it is of pods that are gone, so that nothing but room keeps any of it. */
function nodeWith({ containers, sandboxes, directories, links }: Counts): CompleteInventory {
  const each = <T>(count: number, make: (n: number) => T): T[] =>
    Array.from({ length: count }, (_, n) => make(n));
  return inventory({
    containers: each(containers, (n) => container(`c${n}`, ofGonePod)),
    sandboxes: each(sandboxes, (n) => sandbox(`s${n}`, { podUid: GONE })),
    podLogDirectories: each(directories, (n) => podLogDirectory(`default_web_${podUid(n + 1)}`)),
    logSymlinks: each(links, (n) => logSymlink(`web_default_main-${String(n).padStart(64, '0')}.log`)),
    pods: each(directories + 1, (n) => gonePod(podUid(n))),
  });
}

async function commanded(counts: Counts): Promise<ContainerRemoval | null> {
  const given = nodeWith(counts);
  expect(Inventory.safeParse(given).success).toBe(true);
  const [, [followUp] = []] = await containerGcHandler(() => policySet())(input('inventory', given));
  return followUp === undefined ? null : ContainerRemoval.parse(followUp.event);
}

/** In the order in which they go, the first that there is room for. */
function kindsOf({ containers, sandboxes, directories, links }: Counts): readonly string[] {
  const times = (kind: string, count: number): string[] => Array.from({ length: count }, () => kind);
  return [
    ...times('container', containers),
    ...times('sandbox', sandboxes),
    ...times('pod-log-directory', directories),
    ...times('log-symlink', links),
  ].slice(0, MAX_COMMAND_ITEMS);
}

const NONE: Counts = { containers: 0, sandboxes: 0, directories: 0, links: 0 };
const ONE_MORE = MAX_COMMAND_ITEMS + 1;

test.each([
  { counts: { ...NONE, containers: ONE_MORE } },
  { counts: { ...NONE, sandboxes: ONE_MORE } },
  { counts: { ...NONE, directories: ONE_MORE } },
  { counts: { ...NONE, links: ONE_MORE } },
  { counts: { ...NONE, containers: 30, sandboxes: 30 } },
  { counts: { ...NONE, sandboxes: 30, directories: 30 } },
  { counts: { ...NONE, sandboxes: 30, links: 30 } },
  { counts: { ...NONE, directories: 30, links: 30 } },
  { counts: { containers: 13, sandboxes: 13, directories: 13, links: 13 } },
])('[P4] of $counts a command takes as many as it may hold', async ({ counts }) => {
  const command = await commanded(counts);

  expect(command?.items.map(({ kind }) => kind)).toEqual(kindsOf(counts));
});

test('[P4, G1, I3] whatever may go of all kinds together, the command is one that its schema takes, and full', async () => {
  const count = fc.integer({ min: 0, max: MAX_COMMAND_ITEMS + 10 });
  const counts = fc.record({ containers: count, sandboxes: count, directories: count, links: count });
  await fc.assert(
    fc.asyncProperty(counts, async (given) => {
      const command = await commanded(given);
      expect(command?.items.map(({ kind }) => kind) ?? []).toEqual(kindsOf(given));
    }),
    runs(300),
  );
});

test.each([
  {
    name: 'as long as a directory takes',
    make: (n: number) => `${String(n).padStart(3, '0')}${'x'.repeat(252)}`,
  },
  {
    name: 'at the bound, of characters that JSON takes six bytes for',
    make: (n: number) => `${n}`.padStart(51, '\u0001'),
  },
])('[P8] of names $name a command is no larger than nodes take', async ({ make }) => {
  const names = Array.from({ length: ONE_MORE }, (_, n) => make(n));
  const given = inventory({
    podLogDirectories: names.map((name) => podLogDirectory(name)),
    pods: names.map(gonePod),
    ...longestNames(),
  });
  const bytes = await commandBytes(given, { profile: 'kubelet' });

  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThanOrEqual(MAX_COMMAND_BYTES);
});

test('[P8] an entry stays whose name takes more than 300 bytes as JSON, and keeps no other', async () => {
  const long = `web_default_main-${'\u0001'.repeat(60)}${'0'.repeat(64)}.log`;
  const short = `web_default_main-${'1'.repeat(64)}.log`;
  const given = inventory({ logSymlinks: [logSymlink(long), logSymlink(short)] });
  const [[decision] = [], [followUp] = []] = await containerGcHandler(() => policySet())(
    input('inventory', given),
  );

  expect(followUp).toMatchObject({ event: { items: [{ id: short }] } });
  expect(decision).toMatchObject({
    event: {
      verdicts: verdictsOf({ 'log-symlink': [{ action: 'keep', rule: 'P8' }, { action: 'remove' }] }),
    },
  });
});

test.each([
  { name: 'characters', long: 'x'.repeat(256), short: 'x'.repeat(255) },
  { name: 'bytes as JSON', long: '\u0001'.repeat(50), short: '\u0001'.repeat(49) },
])(
  '[P8] a container and a sandbox stay whose ids have too many $name, and keep no other',
  async ({ long, short }) => {
    const given = inventory({
      containers: [long, short].map((id) => container(id, ofGonePod)),
      sandboxes: [long, short].map((id) => sandbox(id, { podUid: GONE })),
      pods: [gonePod(GONE)],
    });
    const [[decision] = [], [followUp] = []] = await containerGcHandler(() => policySet())(
      input('inventory', given),
    );

    expect(ContainerRemoval.parse(followUp?.event).items.map(({ kind, id }) => ({ kind, id }))).toEqual([
      { kind: 'container', id: short },
      { kind: 'sandbox', id: short },
    ]);
    const stays = [{ action: 'keep', rule: 'P8' }, { action: 'remove' }];
    expect(decision).toMatchObject({ event: { verdicts: verdictsOf({ container: stays, sandbox: stays }) } });
  },
);

const LONGEST = 'x'.repeat(253);
/** Whatever else a command carries, at its longest. */
const longestNames = () => ({ cluster: LONGEST, node: LONGEST, reclaim: reclaim({ step: 'containers' }) });

async function commandBytes(given: CompleteInventory, settings: Partial<Policy>): Promise<number> {
  const policies = policySet({ ...settings, name: 'x'.repeat(63) });
  const [, [followUp] = []] = await containerGcHandler(() => policies)(input('inventory', given));
  return Buffer.byteLength(JSON.stringify(followUp?.event ?? ''));
}
