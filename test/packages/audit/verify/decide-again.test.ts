import { describe, expect, test } from 'vitest';
import type {
  DecisionHeadOf,
  RecordedDecision,
} from '../../../../packages/audit/events/recorded-decision.ts';
import { readPolicyHistory } from '../../../../packages/audit/policies/policy-history.ts';
import {
  type DecidingAgain,
  decideAgain,
  type Redecided,
} from '../../../../packages/audit/verify/decisions.ts';
import { Inputs } from '../../../../packages/audit/verify/inputs.ts';
import { policySet, policySetRecord } from '../../../../packages/decision/policy-set.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { SECOND } from '../../../fixtures/time.ts';
import { onLog, outgoing } from '../../../support/logs/log-record.ts';
import { logOf } from '../support/archives.ts';
import { DECIDED_AFTER_MS, decider, decisionOn, look, OUTPUT } from './decision-support.ts';
import { ALL, at, findings } from './support.ts';

const running = new AbortController().signal;
const SET = policySet('node', [], []);
const UNDER_SET: Partial<DecisionHeadOf<'node'>> = { policySetHash: SET.hash };
const set = onLog(outgoing({ topic: 'policyVersions', key: SET.hash, event: policySetRecord(SET) }));

interface Given extends Partial<Omit<DecidingAgain, 'inputs' | 'findings'>> {
  /** What the log holds beside the set of policies. */
  readonly messages?: readonly LogRecord[];
}

interface Result extends Redecided {
  readonly deviations: readonly string[];
  readonly gaps: readonly string[];
  readonly verified: number;
}

const MESSAGE = look(5);
const BEFORE = look(4);

/** Decides again where the log has the message and an older one, the decider agrees, and the policies held. */
async function decidedAgain(
  decision: RecordedDecision,
  { messages = [BEFORE, MESSAGE], ...over }: Given = {},
) {
  const { collector, counts, deviations, gaps } = findings();
  const log = logOf([...messages, set]);
  const redecided = await decideAgain(decision, {
    ...ALL,
    deletes: true,
    policies: await readPolicyHistory(log, running),
    inForce: { problemOf: () => null },
    findDecider: async () => decider(),
    ...over,
    inputs: new Inputs(log, 0, { signal: running }),
    findings: collector,
  });
  const result: Result = {
    ...redecided,
    deviations: deviations(),
    gaps: gaps(),
    verified: counts.verified,
  };
  return { result, found: collector.found() };
}

const again = async (decision: RecordedDecision, given: Given = {}): Promise<Result> =>
  (await decidedAgain(decision, given)).result;

const NOTHING = { deviations: [], gaps: [], verified: 0, outputs: null };

describe('a decision', () => {
  test('that comes out the same is verified, and gives what follows from it', async () => {
    expect(await again(decisionOn(MESSAGE, UNDER_SET))).toEqual({
      ...NOTHING,
      verified: 1,
      input: MESSAGE,
      outputs: [OUTPUT],
    });
  });

  test('that comes out otherwise deviates, and what was to follow is known all the same', async () => {
    const changed = { type: 'record', reason: 'another' };
    expect(await again(decisionOn(MESSAGE, UNDER_SET, changed))).toMatchObject({
      ...NOTHING,
      deviations: ['decided-differently 0,5'],
      outputs: [OUTPUT],
    });
  });

  test('on what its decider refuses deviates', async () => {
    const refusing = decider({
      read: () => {
        throw new FleetGcError('EVENT_REJECTED', 'it is no inventory');
      },
    });
    expect(await again(decisionOn(MESSAGE, UNDER_SET), { findDecider: async () => refusing })).toMatchObject({
      ...NOTHING,
      deviations: ['decided-differently 0,5'],
    });
  });

  test('that its decider would not make at all deviates', async () => {
    const silent = decider({ decide: () => [] });
    const { found, result } = await decidedAgain(decisionOn(MESSAGE, UNDER_SET), {
      findDecider: async () => silent,
    });
    expect(result).toMatchObject({ ...NOTHING, deviations: ['decided-differently 0,5'], outputs: [] });
    expect(found.deviations.first[0]?.message).toContain('and not nothing');
  });

  test('whose id does not follow from what it says deviates, and is not decided again', async () => {
    const decision = decisionOn(MESSAGE, UNDER_SET);
    const forged = { ...decision, head: { ...decision.head, id: 'decision-1' } };
    expect(await again(forged)).toEqual({ ...NOTHING, deviations: ['wrong-id 0'], input: null });
  });

  test('of a decider that this release does not have cannot be verified', async () => {
    expect(await again(decisionOn(MESSAGE, UNDER_SET), { findDecider: async () => null })).toMatchObject({
      ...NOTHING,
      gaps: ['unknown-decider 0'],
    });
  });

  test('under a set of policies that nobody wrote down cannot be verified', async () => {
    expect(await again(decisionOn(MESSAGE, { policySetHash: 'f'.repeat(64) }))).toMatchObject({
      ...NOTHING,
      gaps: ['unknown-policy-set 0'],
    });
  });

  test.each([
    { kind: 'policies-outdated', expected: { deviations: ['policies-outdated 0,9'] } },
    { kind: 'policies-never-held', expected: { deviations: ['policies-never-held 0,9'] } },
    { kind: 'topic-recreated', expected: { gaps: ['topic-recreated 0,9'] } },
  ] as const)('under policies that did not hold is told, and decided again: $kind', async (given) => {
    const places = [{ topic: TOPICS.policies.name, partition: 0, offset: '9', timestampMs: 0 }];
    const inForce = { problemOf: () => ({ kind: given.kind, message: '', places }) };
    expect(await again(decisionOn(MESSAGE, UNDER_SET), { inForce })).toMatchObject({
      ...NOTHING,
      verified: 1,
      outputs: [OUTPUT],
      ...given.expected,
    });
  });
});

describe('what was decided on', () => {
  const decision = decisionOn(MESSAGE, UNDER_SET);

  test('is not what lies there now', async () => {
    const replaced = look(5, { nodeLabels: { a: 'b' } });
    for (const [timestampMs, isLater] of [
      [replaced.timestampMs, false],
      [decision.record.timestampMs, false],
      [decision.record.timestampMs + 1, true],
    ] as const) {
      const { found, result } = await decidedAgain(decision, {
        messages: [BEFORE, { ...replaced, timestampMs }],
      });
      expect(result).toMatchObject({ ...NOTHING, deviations: ['input-changed 0,5'] });
      expect(found.deviations.first[0]?.message.includes('was logged after the record')).toBe(isLater);
    }
  });

  test('lay on a topic that was made anew since', async () => {
    const anew = { ...look(0), timestampMs: at('decisions', 0, DECIDED_AFTER_MS).timestampMs + SECOND };
    for (const messages of [[anew], [anew, { ...look(5, { nodeLabels: { a: 'b' } }) }]])
      expect(await again(decision, { messages })).toMatchObject({ ...NOTHING, gaps: ['topic-recreated 0'] });
  });

  test('was taken by retention, or deleted from the middle', async () => {
    for (const messages of [[], [look(6)], [BEFORE, look(6)]])
      expect(await again(decision, { messages })).toEqual({
        ...NOTHING,
        gaps: ['input-gone 0'],
        input: null,
      });
  });

  test('cannot have been behind the end', async () => {
    expect(await again(decision, { messages: [BEFORE] })).toMatchObject({
      ...NOTHING,
      deviations: ['input-never-was 0'],
    });
  });

  test.each([
    { name: 'on a topic that nobody decides on', over: { topic: TOPICS.commands.name } },
    { name: 'on a topic that its decider does not decide on', over: { topic: TOPICS.diskStats.name } },
    { name: 'in another partition than its node', over: { partition: 1 } },
    { name: 'at what is no offset', over: { offset: '1e1' } },
  ])('cannot have been $name', async ({ over }) => {
    const input = { ...decision.head.input, ...over };
    const messages = [BEFORE, MESSAGE, look(6)];
    expect(await again(decisionOn(MESSAGE, { ...UNDER_SET, input }), { messages })).toEqual({
      ...NOTHING,
      deviations: ['input-never-was 0'],
      input: null,
    });
  });
});

describe('disk statistics that were decided on', () => {
  const stats = (offset: number, afterMs = offset * SECOND) => at('diskStats', offset, afterMs);
  const input = { ...decisionOn(MESSAGE).head.input, topic: TOPICS.diskStats.name };
  const decision = decisionOn(MESSAGE, { decider: { name: 'pressure', version: '1' }, ...UNDER_SET, input });

  test('are gone a day later, as they must be', async () => {
    const kept = () => Number.POSITIVE_INFINITY;
    const messages = [stats(6)];
    expect(await again(decision, { messages, kept })).toMatchObject({
      ...NOTHING,
      gaps: ['disk-stats-gone 0'],
    });
    for (const given of [{ messages }, { messages, kept, deletes: false }])
      expect(await again(decision, given)).toMatchObject({ ...NOTHING, gaps: ['input-gone 0'] });
  });

  test('may have been gone before an archive came to them, unless it has later ones', async () => {
    const deletes = false;
    expect(await again(decision, { deletes, messages: [stats(4)] })).toMatchObject({
      ...NOTHING,
      gaps: ['input-gone 0'],
    });
    const messages = [stats(4, 2 * DECIDED_AFTER_MS)];
    expect(await again(decision, { deletes, messages })).toMatchObject({
      ...NOTHING,
      deviations: ['input-never-was 0'],
    });
  });
});

describe('what was passed over', () => {
  const newer = look(6);
  const overtakenBy = { topic: newer.topic, partition: 0, offset: '6', id: 'look-6' };
  const passed = decisionOn(MESSAGE, { ...UNDER_SET, outcome: 'overtaken', overtakenBy });

  test('rightly is verified where its policies are known', async () => {
    const messages = [MESSAGE, newer];
    expect(await again(passed, { messages })).toMatchObject({ ...NOTHING, verified: 1, outputs: [] });
    const unknown = decisionOn(MESSAGE, { outcome: 'overtaken', overtakenBy, policySetHash: 'f'.repeat(64) });
    expect(await again(unknown, { messages })).toMatchObject({
      ...NOTHING,
      gaps: ['unknown-policy-set 0'],
      outputs: [],
    });
  });

  test('wrongly deviates, and names both messages', async () => {
    const keeping = async () => decider({ passOver: () => null });
    expect(await again(passed, { messages: [MESSAGE, newer], findDecider: keeping })).toMatchObject({
      ...NOTHING,
      deviations: ['wrongly-overtaken 0,5,6'],
    });
    expect(await again(passed, { messages: [MESSAGE] })).toMatchObject({
      ...NOTHING,
      deviations: ['wrongly-overtaken 0,5'],
    });
  });

  test('by what is gone from the middle cannot be verified', async () => {
    expect(await again(passed, { messages: [MESSAGE, look(7)] })).toMatchObject({
      ...NOTHING,
      gaps: ['input-gone 0,5'],
    });
  });
});
