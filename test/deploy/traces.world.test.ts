import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { inProcess } from '../cli/fleetgc.ts';
import { embeddedLog } from '../cli/service-options.ts';
import { spawnVerb } from '../cli/service-process.ts';
import { attributesInPage, spansInPage } from '../docs/told-spans.ts';
import { type CollectedSpan, startCollector } from '../support/collector.ts';
import { freePort } from '../support/container.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const REMOVED_MS = 120_000;

/** From the sample over a threshold to the result, each the child of the one before. */
const WAY = [
  ['send gc.node.disk-stats', 'fleetgc-simulate-node'],
  ['process gc.node.disk-stats', 'fleetgc-decide'],
  ['process gc.node.observe', 'fleetgc-simulate-node'],
  ['take inventory', 'fleetgc-simulate-node'],
  ['send gc.node.inventory', 'fleetgc-simulate-node'],
  ['process gc.node.inventory', 'fleetgc-decide'],
  ['process gc.node.commands', 'fleetgc-simulate-node'],
  ['carry out command', 'fleetgc-simulate-node'],
] as const;

/** A node whose disk is over a threshold at once, and what decides on it: two processes, that know the log and the collector alone. */
async function startFleet(collector: string): Promise<void> {
  const log = await embeddedLog();
  const policy = join(temporaryDirectory(), 'policy.yaml');
  const thresholds = { imageGCHighThresholdPercent: 60, imageGCLowThresholdPercent: 55 };
  const ages = { imageMinimumGCAge: '1s', minimumCreatedContainerAge: '1s' };
  writeFileSync(policy, stringify({ name: 'all', mode: 'enforce', ...thresholds, ...ages }));
  await inProcess(['policy', 'apply', policy, ...log]);
  const start = async (...args: readonly string[]): Promise<void> => {
    const address = `127.0.0.1:${await freePort()}`;
    spawnVerb(...args, ...log, '--http-address', address, '--otlp-endpoint', collector);
  };
  await start('decide');
  await start('simulate-node', '--cluster', 'c', '--node-name', 'n', '--capacity', '2G', '--step', '50ms');
}

/** The spans of the way that ends in this one, from its beginning; `undefined` where one is not there yet. */
function wayTo(end: CollectedSpan, all: readonly CollectedSpan[]): readonly CollectedSpan[] | undefined {
  if (end.parentId === '') return [end];
  const parent = all.find(({ id, traceId }) => id === end.parentId && traceId === end.traceId);
  const before = parent && wayTo(parent, all);
  return before && [...before, end];
}

test('one trace leads from a sample over a threshold to what was removed and its result, over two processes', async () => {
  const collector = await startCollector();
  await startFleet(collector.url);
  const found = await waitUntil('removals that are traced to their samples', REMOVED_MS, () => {
    const all = collector.spans();
    const ways = all.filter(({ name }) => name.startsWith('remove ')).map((end) => wayTo(end, all) ?? []);
    const way = ways.find(({ length }) => length === WAY.length + 1);
    const results = all.filter(
      ({ parentId, name }) => parentId === way?.at(-2)?.id && name.startsWith('send'),
    );
    return way !== undefined && results.length > 0 && { all, way, results };
  });

  const { all, way, results } = found;
  expect(way.slice(0, -1).map(({ name, service }) => [name, service])).toEqual(WAY);
  expect(way.at(-1)?.attributes).toMatchObject({
    'k8s.cluster.name': 'c',
    'k8s.node.name': 'n',
    'fleetgc.object.outcome': 'removed',
  });
  expect(new Set(way.map(({ traceId }) => traceId)).size).toBe(1);
  expect(results.map(({ name, kind }) => [name, kind])).toContainEqual(['send gc.node.results', 'Producer']);
  expect([...new Set(all.map(({ name }) => name))].filter((name) => !spansInPage.includes(name))).toEqual([]);
  const attributes = new Set(all.flatMap((span) => Object.keys(span.attributes)));
  expect([...attributes].filter((name) => !attributesInPage.includes(name))).toEqual([]);
  // Of samples that met nothing there is none: each trace that begins with one goes on with an order.
  const begun = all.filter(({ name }) => name === 'send gc.node.disk-stats');
  const orders = all.filter(({ name }) => name === 'process gc.node.observe');
  for (const { traceId } of begun) expect(orders.map((order) => order.traceId)).toContain(traceId);
});
