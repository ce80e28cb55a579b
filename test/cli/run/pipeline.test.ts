import { join } from 'node:path';
import { expect, test } from 'vitest';
import { imageRemoval } from '../../fixtures/command.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { ENFORCE, imagesOf, machine, removals, said, start } from './machine.ts';

const BOUND_MS = 10_000;

test('with mode: enforce a full disk is relieved down to the low threshold, and every step is told', async () => {
  const one = await machine();
  const run = await start(one, ENFORCE);
  await waitUntil('both removals to be told', BOUND_MS, () => removals(run).length >= 2);
  await run.stop();

  // Two of nine, since the sandbox image takes a little: 20 % available is what the low threshold asks for.
  expect(imagesOf(one.node)).toHaveLength(7);
  expect(run.lines.slice(0, 4)).toEqual([
    expect.stringMatching(/^FleetGC \d+\.\d+\.\d+ on node n$/),
    `Container runtime: simulated-containerd 2.4.2 at ${one.node.endpoint}`,
    `Event log: ${join(one.directory, 'log.db')}`,
    'Policy mine: enforce. What it allows will be removed.',
  ]);
  const told = run.lines.slice(4).map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ''));
  expect(told[0]).toMatch(/^disk at \d% free \(threshold 15%\): looking for what can go$/);
  expect(told.some((line) => /^image-gc wants to remove \d images? \(registry\.example/.test(line))).toBe(
    true,
  );
});

test('in dry-run the same is decided and nothing is removed', async () => {
  const one = await machine();
  const run = await start(one, 'name: mine\nmode: dry-run\nimageMinimumGCAge: -1s\n');
  await waitUntil(
    'the decision to be told',
    BOUND_MS,
    said(run, /image-gc would remove .* but this is a dry run/),
  );
  await run.stop();

  expect(imagesOf(one.node)).toHaveLength(9);
  expect(run.lines).toContain('Policy mine: dry-run. Nothing will be removed.');
});

test('a policy that an earlier run enforced holds no more when the next run is without it', async () => {
  const one = await machine();
  const first = await start(one, `${ENFORCE}priority: 100\nimageGCHighThresholdPercent: 100\n`);
  await waitUntil('the first run to begin', BOUND_MS, said(first, /Policy mine: enforce/));
  await first.stop();
  const second = await start(one, 'name: default\nmode: dry-run\nimageMinimumGCAge: -1s\n');
  await waitUntil('a dry run', BOUND_MS, said(second, /would remove/));
  await second.stop();

  expect(second.lines).toContain('Policy mine of an earlier run no longer holds.');
  expect(imagesOf(one.node)).toHaveLength(9);
});

test('a command of a policy that was replaced by a dry run is refused', async () => {
  const one = await machine();
  const run = await start(one, 'name: mine\nmode: dry-run\nimageGCHighThresholdPercent: 100\n');
  await waitUntil('the run to begin', BOUND_MS, said(run, /Nothing will be removed/));
  const takenAt = one.node.clock.now();
  const command = imageRemoval([`sha256:${'0'.repeat(64)}`], { ...run.identity, takenAt });
  await run.log.publish([outgoing({ topic: 'commands', key: 'local/n', event: command })]);
  await waitUntil(
    'the refusal to be told',
    BOUND_MS,
    said(run, /policy mine says dry-run for this node now/),
  );
  await run.stop();

  expect(imagesOf(one.node)).toHaveLength(9);
});

test('for machines every line is a decision or a result', async () => {
  const one = await machine();
  const run = await start(one, ENFORCE, { json: true });
  await waitUntil('a result', BOUND_MS, said(run, 'fleetgc.node.object-result'));
  await run.stop();

  const types = new Set(run.lines.map((line) => String(JSON.parse(line).type)));
  expect([...types].every((type) => /decision|result|unrelieved/.test(type))).toBe(true);
});
