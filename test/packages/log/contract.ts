import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEventLog } from '../../../packages/log/open.ts';
import { failingHandlerContract } from './contract/failing-handlers.ts';
import { commitContract, groupContract, groupProgressContract, memberContract } from './contract/groups.ts';
import { keyPartitionContract } from './contract/key-partition.ts';
import { readingContract } from './contract/reading.ts';
import { recordContract, sizeContract } from './contract/records.ts';
import type { LogUnderTest, TriedLog } from './contract/subject.ts';
import { grownTopicContract, missingTopicsContract, recreatedTopicContract } from './contract/topics.ts';
import { outgoing, silentContext } from './probe.ts';

/** What every adapter of the event log promises. */
export function eventLogContract(name: string, start: () => Promise<LogUnderTest>): void {
  describe(`event log contract: ${name}`, () => {
    let log: TriedLog;
    const opened: AsyncDisposable[] = [];
    beforeAll(async () => {
      log = await triedLog(await start(), opened);
    });
    afterAll(async () => {
      for (const each of opened.reverse()) await each[Symbol.asyncDispose]();
      await log.subject[Symbol.asyncDispose]();
    });
    const tried = (): TriedLog => log;

    missingTopicsContract(tried);
    recordContract(tried);
    memberContract(tried);
    describe.concurrent('consumers', () => {
      describe('groups', () => groupContract(tried));
      describe('groups seen from outside', () => groupProgressContract(tried));
      describe('commits', () => commitContract(tried));
      describe('failing handlers', () => failingHandlerContract(tried));
      describe('the partition of one key', () => keyPartitionContract(tried));
    });
    describe('reading without a group', () => readingContract(tried));
    describe('sizes', () => sizeContract(tried));
    test('health says connected', () => {
      expect(tried().log.health()).toEqual({ connected: true, problem: null });
    });
    describe('a topic that is deleted and made anew', () => recreatedTopicContract(tried));
    grownTopicContract(tried);
  });
}

/** Opens the log; what is opened later is noted in `opened` as well. */
async function triedLog(subject: LogUnderTest, opened: AsyncDisposable[]): Promise<TriedLog> {
  const open: TriedLog['open'] = async (over = {}) => {
    const another = await openEventLog(subject.options, silentContext(over));
    opened.push(another);
    return another;
  };
  const log = await open();
  return {
    subject,
    log,
    open,
    publishTexts: (key, texts, topic = 'gc.node.results') =>
      log.publish(texts.map((value) => outgoing({ topic, key, value: Buffer.from(value) }))),
  };
}
