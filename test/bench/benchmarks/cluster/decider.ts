import { graphGcHandler } from '../../../../packages/deciders/graph-gc/decider.ts';
import { clusterOutput, type Input, type Outputs } from '../../../../packages/decision/handler.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import { randomTraceIds } from '../../../../packages/process/system-sources.ts';
import { decide } from '../../../../packages/records/decide.ts';
import { parseBelieved } from '../../../../packages/records/parse/parse-believed.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { createPublisher } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import { MAX_CANDIDATES, type Ownership } from '../../../../schemas/events/ownership.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../../fixtures/ownership.ts';
import { madeUpPositions } from '../../../support/logs/made-up-positions.ts';
import { bytesOnLog } from '../../batch-bytes.ts';
import { recordOf, say } from '../../context.ts';
import type { Figure } from '../../figure.ts';
import { spreadOf } from '../../statistics.ts';

const FACTS = 20;
const CANDIDATES = FACTS * MAX_CANDIDATES;
/** Dependents of one owner. */
const FAMILY = 100;
const WARM_UP_ROUNDS = 3;
const ROUNDS = 12;

type Work = (record: LogRecord) => Promise<void>;

/** One worker of graph-gc from the bytes of facts to the batches that it sends, beside one that sends what it has parsed. */
export async function deciderFigures(): Promise<readonly Figure[]> {
  say('cluster-parts: decider');
  const records = Array.from({ length: FACTS }, (_, at) =>
    recordOf(clusterOutput('clusterOwnership', factOf(at))),
  );
  const [deciding, passing]: [number[], number[]] = [[], []];
  const work = { decide: decidingWork(), pass: passingWork() };
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    const passed = await perSecond(work.pass, records);
    const decided = await perSecond(work.decide, records);
    if (round < WARM_UP_ROUNDS) continue;
    passing.push(passed);
    deciding.push(decided);
  }
  return [
    {
      benchmark: 'cluster-parts',
      name: 'graph-gc, candidates of a wide cascade: a second of processor time',
      unit: 'candidates/s',
      value: spreadOf(deciding),
      baseline: spreadOf(passing),
      baselineName: 'parses, checks and publishes the same facts',
      samples: ROUNDS * CANDIDATES,
      aim: { kind: 'ratio-at-least', limit: 0.8 },
    },
  ];
}

/** A fact of as many candidates as one holds, whose owners are gone. */
function factOf(at: number): Ownership {
  const numbers = Array.from({ length: MAX_CANDIDATES }, (_, position) => at * MAX_CANDIDATES + position);
  return ownership({ id: `ownership-${at}`, seq: at, candidates: numbers.map(candidateOf) });
}

function candidateOf(number: number) {
  const family = Math.floor(number / FAMILY);
  const ownerUid = uidOf(1, family);
  const ownerKind = 'ConfigMap';
  return candidate({
    object: {
      namespace: 'shop',
      name: `service-${family}-${wordOf(number)}`,
      uid: uidOf(2, number),
      resourceVersion: String(1_000_000 + number),
    },
    references: [
      owner(ownerUid, {
        name: `service-${family}`,
        controller: true,
        blockOwnerDeletion: true,
        state: 'gone',
        gone: { how: 'watched', orphaned: false },
      }),
    ],
    cascades: [{ ownerUid, ownerKind, objects: FAMILY, ofKind: CANDIDATES, within: null }],
  });
}

const uidOf = (kind: number, number: number): string =>
  `${(number * 2_654_435_761).toString(16).padStart(12, '0').slice(-8)}-9d0f-4b5b-9b43-${kind.toString().padStart(12, '0')}`;

const wordOf = (number: number): string => ((number + 1) * 2_654_435_761).toString(36).slice(-5);

function decidingWork(): Work {
  const parse = parseBelieved(TRUST_OFF);
  const publisher = createPublisher({
    log: { publish: async (records) => madeUpPositions(records) },
    source: '/fleetgc/bench',
    now: Date.now,
    ids: randomTraceIds,
    signer: UNSIGNED,
  });
  const limits = { cascade: CANDIDATES, cascadeOfKind: CANDIDATES, removalsPerHour: CANDIDATES };
  const policies = policySet('cluster', [clusterPolicyRecord({ limits })], []);
  const handle = graphGcHandler(() => policies);
  const handlers = { clusterOwnership: (input: Input<Ownership>): Outputs => handle(input) };
  return async (record) => {
    const parsed = parse('clusterOwnership', record);
    const handled = await decide(
      'clusterOwnership',
      { kind: 'read', record, parsed },
      { handlers, publisher },
    );
    if (handled.stages.length !== 2)
      throw new Error('the candidates of a fact were not decided on as they should');
    for (const stage of handled.stages) await bytesOnLog(stage);
  };
}

function passingWork(): Work {
  return async (record) => {
    const parsed = parseRecord('clusterOwnership', record);
    if (!parsed.ok) throw new Error('a fact cannot be read');
    await bytesOnLog([recordOf(clusterOutput('clusterOwnership', parsed.event))]);
  };
}

async function perSecond(work: Work, records: readonly OutgoingRecord[]): Promise<number> {
  const arriving = records.map(arrived);
  const before = process.cpuUsage();
  for (const record of arriving) await work(record);
  const { user, system } = process.cpuUsage(before);
  return (CANDIDATES * 1e6) / (user + system);
}

/** Bytes that nobody has seen before. */
const arrived = (record: OutgoingRecord, at: number): LogRecord => ({
  ...record,
  value: Buffer.from(record.value ?? ''),
  partition: 0,
  offset: BigInt(at),
  timestampMs: 1_800_000_000_000,
});
