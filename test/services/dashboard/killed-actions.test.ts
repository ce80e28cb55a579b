import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { EventLog, OutgoingRecord } from '../../../packages/log/port.ts';
import { readStoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { PeopleHistory } from '../../../packages/read-model/history.ts';
import { readStoredLetters } from '../../../packages/read-model/letters.ts';
import { openTables } from '../../../packages/read-model/tables.ts';
import { approvalKey } from '../../../schemas/policy/approval.ts';
import type { DashboardActionName } from '../../../schemas/reports/dashboard-actions.ts';
import { ACTIONS, type ActingLog, onlyActs } from '../../../services/dashboard/actions/perform.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { jsonOf } from '../../cli/read-topic.ts';
import { bury, lose, putBack } from '../../cli/verbs/dead-letters/letters.ts';
import { approval, approvedOwner } from '../../fixtures/approval.ts';
import { EVERY_NODE } from '../../fixtures/policy.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { unsignedWriter } from './support/acting.ts';

const HOUR_MS = 3_600_000;
const ofCluster = (cluster: string) => ({ ...EVERY_NODE, clusters: [cluster] });
const HELD = approval(approvedOwner('o', 1));

const LOST = ['{"a":1}', '{"a":2}', '{"a":3}'];

interface Killed {
  readonly name: DashboardActionName;
  readonly asked: { readonly id: string };
  /** What lies on the log before. */
  readonly before: (log: EventLog) => Promise<unknown>;
}

/** Whatever else the action is asked with. */
const asking = (given: object): Killed['asked'] => ({ id: randomUUID(), ...given });
const pauseOf = (cluster: string) => asking({ selector: ofCluster(cluster), reason: 'disks' });

const KILLED: readonly Killed[] = [
  { name: 'pause', asked: pauseOf('prod'), before: async () => undefined },
  {
    name: 'resume',
    asked: asking({ selector: null, reason: '' }),
    before: async (log) => {
      for (const cluster of ['prod', 'test', 'edge'])
        await perform(log, { name: 'pause', asked: pauseOf(cluster) });
    },
  },
  {
    name: 'withdraw',
    asked: asking({ cluster: HELD.cluster, name: 'o', as: 'owner', reason: '' }),
    before: (log) =>
      log.publish([
        outgoing({ topic: 'policyVersions', key: approvalKey(HELD), event: HELD }),
        outgoing({ topic: 'policies', key: approvalKey(HELD), event: HELD }),
      ]),
  },
  {
    name: 'redrive',
    asked: asking({ letters: ['dead-letter-0', 'dead-letter-1', 'dead-letter-2'], again: false, reason: '' }),
    before: async (log) => bury(log, ...(await lose(log, LOST))),
  },
];

async function perform(log: ActingLog, { name, asked }: Pick<Killed, 'name' | 'asked'>): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  const own = onlyActs(log);
  const acting = {
    log: own,
    writer: unsignedWriter(own),
    roots: null,
    by: 'ann (dashboard, token)',
    nodes: [],
    nowMs: Date.now(),
  };
  await ACTIONS[name].perform(asked, acting, signal);
}

/** The log as a process has it that is killed when so many records of its own are written. */
function killedAfter(log: EventLog, records: number): ActingLog {
  let left = records;
  return {
    read: (request, signal) => log.read(request, signal),
    publish: async (given: readonly OutgoingRecord[]) => {
      const written = given.slice(0, left);
      left -= written.length;
      if (written.length > 0) await log.publish(written);
      if (written.length < given.length) throw new Error('killed');
      return madeUpPositions(given);
    },
  };
}

async function begun({ before }: Killed): Promise<EventLog> {
  const { log } = await ownLog();
  await before(log);
  return log;
}

const signal = () => AbortSignal.timeout(60_000);

/** All that people and services go by. */
async function standing(log: EventLog) {
  const { pauses, approvals } = await readStoredPolicies(log, signal());
  const { letters } = await readStoredLetters(log, 'earliest', signal());
  const back = (await putBack(log, LOST.length)).map(jsonOf);
  return {
    pauses: [...pauses.keys()].toSorted(),
    approvals: [...approvals.keys()].toSorted(),
    notPutBack: letters.filter(({ redrivenAtMs }) => redrivenAtMs === null).map(({ letter }) => letter.id),
    putBack: [...new Set(back.map((fact) => JSON.stringify(fact)))].toSorted(),
  };
}

async function writtenBy(killed: Killed): Promise<number> {
  const log = await begun(killed);
  let count = 0;
  await perform(
    {
      read: (request, ending) => log.read(request, ending),
      publish: async (records) => {
        count += records.length;
        return await log.publish(records);
      },
    },
    killed,
  );
  return count;
}

describe.each(KILLED)('whoever is killed in the middle of $name', (killed) => {
  test('and does it again has what one who was not has', async () => {
    const whole = await begun(killed);
    await perform(whole, killed);
    const records = await writtenBy(killed);
    expect(records).toBeGreaterThan(1);
    for (let written = 0; written <= records; written += 1) {
      const log = await begun(killed);
      await perform(killedAfter(log, written), killed).catch(() => undefined);
      await perform(log, killed).catch((error) => {
        // It was done already, and whoever asks again is told so.
        expect(error).toMatchObject({ code: 'NOT_FOUND' });
      });
      expect(await standing(log), `after ${written} records`).toEqual(await standing(whole));
    }
  });

  test('and does not do it again is told what was not done', async () => {
    const whole = await begun(killed);
    const untouched = await standing(whole);
    await perform(whole, killed);
    const done = await standing(whole);
    const records = await writtenBy(killed);
    for (let written = 1; written < records; written += 1) {
      const log = await begun(killed);
      await perform(killedAfter(log, written), killed).catch(() => undefined);
      const stands = await standing(log);
      const isHalf = JSON.stringify(stands) !== JSON.stringify(done);
      const unfinished = await unfinishedOn(log);
      // A letter that was not noted as put back still waits on the page.
      if (killed.name === 'redrive') expect(stands.notPutBack.length > 0).toBe(isHalf);
      else expect(unfinished.length > 0, `after ${written} records`).toBe(isHalf);
    }
    expect(await unfinishedOn(whole)).toEqual([]);
    expect(untouched).not.toEqual(done);
  });
});

async function unfinishedOn(log: EventLog): Promise<readonly string[]> {
  const { db } = openTables(`${temporaryDirectory()}/projection.db`, 'test');
  const now = () => Date.now() + HOUR_MS;
  const history = new PeopleHistory({ db, log, roots: null, historyMs: 24 * HOUR_MS, now });
  const { entries } = await history.read({ what: null, before: null, limit: 100 }, signal());
  db.close();
  return entries.filter(({ isUnfinished }) => isUnfinished).map(({ about }) => about);
}
