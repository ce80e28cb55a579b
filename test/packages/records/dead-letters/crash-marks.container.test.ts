import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { EventLogOptions, openEventLog } from '../../../../packages/log/open.ts';
import type { EventLog, Subscription } from '../../../../packages/log/port.ts';
import { nextHop } from '../../../../packages/process/trace.ts';
import { createPublisher } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { type Broker, startBroker } from '../../../support/kafka/kafka.ts';
import { countedIds } from '../../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { readAll, silentContext, uniqueGroup, until, within } from '../../log/probe.ts';
import type { DeadlyProcess } from './deadly-process.ts';

/** A group notices after a while that a member was killed. */
const PATIENCE_MS = 60_000;

let broker: Broker;
let log: EventLog;
const options = () => ({
  kind: 'kafka',
  brokers: [broker.address],
  clientId: 'deadly',
  replicationFactor: 1,
});
beforeAll(async () => {
  broker = await startBroker();
  log = await openEventLog(EventLogOptions.parse(options()), silentContext());
  await log.createTopics();
});
afterAll(async () => {
  await log?.[Symbol.asyncDispose]();
  await broker?.[Symbol.asyncDispose]();
});

/** One after the other, of one node. */
async function publish(node: string, ids: readonly string[]): Promise<void> {
  const publisher = createPublisher({
    signer: UNSIGNED,
    log,
    source: '/fleetgc/test',
    now: Date.now,
    ids: countedIds(),
  });
  for (const id of ids) {
    const output = nodeOutput('diskStats', diskStats({}, { id, node }));
    await publisher.send(publisher.records([output], nextHop({}, countedIds())));
  }
}

/** Starts the process until it has handled `last`; resolves to how often it died, and what it handled in that order. */
async function startUntil(last: string, given: Omit<DeadlyProcess, 'log'>) {
  const program = fileURLToPath(new URL('./deadly-process.ts', import.meta.url));
  let output = '';
  for (let deaths = 0; ; deaths += 1) {
    const child = spawn(process.execPath, [program, JSON.stringify({ ...given, log: options() })], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const ended = once(child, 'exit');
    const isThere = until(last, () => output.includes(`handled ${last}\n`), PATIENCE_MS).then(() => 'there');
    const how = await within('the process', Promise.race([isThere, ended]), 2 * PATIENCE_MS);
    if (how === 'there') return { deaths, handled: [...new Set(output.match(/(?<=handled )\S+/g))] };
  }
}

test.each([
  { name: 'shared by a group', node: 'web-1', deaths: 3, assignment: { kind: 'shared' } },
  {
    name: 'read for one key',
    node: 'web-2',
    deaths: 2,
    assignment: { kind: 'key', key: `${NODE.cluster}/web-2`, lookBackMs: 3_600_000 },
  },
] as const satisfies readonly {
  readonly assignment: Subscription['assignment'];
  readonly [key: string]: unknown;
}[])(
  'a message that ends each process is passed over with a dead letter, and no other: $name',
  async ({ node, deaths, assignment }) => {
    await publish(node, [`${node}-a`, `${node}-b`, 'deadly', `${node}-c`]);
    const group = uniqueGroup();
    const given = { group, assignment, stateDirectory: temporaryDirectory() };
    const found = await startUntil(`${node}-c`, given);
    expect(found.deaths).toBe(deaths);
    expect(found.handled.filter((id) => id.startsWith(node))).toEqual([
      `${node}-a`,
      `${node}-b`,
      `${node}-c`,
    ]);
    let letters: readonly { readonly group: string }[] = [];
    await until('the dead letter', async () => {
      const records = await readAll(log, `${NODE.cluster}/${node}`, { topic: 'gc.dead-letters' });
      letters = records.map(({ value }) => JSON.parse(String(value)));
      return letters.some((letter) => letter.group === group);
    });
    expect(letters.filter((letter) => letter.group === group)).toMatchObject([
      { cause: 'process-died', topic: 'gc.node.disk-stats', key: expect.any(String) },
    ]);
  },
);
