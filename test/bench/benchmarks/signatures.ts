import { imageGcHandler } from '../../../packages/deciders/image-gc/decider.ts';
import { type Input, nodeOutput, type Outputs } from '../../../packages/decision/handler.ts';
import type { LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { randomTraceIds } from '../../../packages/process/system-sources.ts';
import { decide } from '../../../packages/records/decide.ts';
import { parseBelieved } from '../../../packages/records/parse/parse-believed.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { KeyRing } from '../../../packages/records/trust/key-ring.ts';
import { claimedSignature, isSignedBy, signRecord } from '../../../packages/records/trust/signature.ts';
import { type Signer, signerOf, UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { RequiredTrust, TRUST_OFF, type Trust } from '../../../packages/records/trust/trust.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import { policySet } from '../../fixtures/policy.ts';
import { certified, FLEET, newKey, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';
import { recordOf, say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { spreadOf } from '../statistics.ts';

const INVENTORIES = 64;
const WARM_UP_ROUNDS = 15;
const ROUNDS = 45;

type Work = (records: readonly LogRecord[]) => Promise<void>;
const KINDS = ['checked', 'off', 'signed', 'factsToo'] as const;
type Kind = (typeof KINDS)[number];
type Rounds = Readonly<Record<Kind, number[]>>;

/** What signatures cost the steps of a worker between the bytes that it fetches and the records that it publishes. */
export async function benchSignatures(): Promise<Findings> {
  const node = newKey();
  const inventories = Array.from({ length: INVENTORIES }, (_, at) =>
    signRecord(recordOf(nodeOutput('inventory', inventoryOf(at))), {
      fleet: FLEET,
      key: node,
      generation: null,
    }),
  );
  const work = workOf(node.publicKey);
  const rounds: Rounds = { checked: [], off: [], signed: [], factsToo: [] };
  say('signatures');
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1)
    for (const kind of KINDS) {
      const us = await timeOf(work[kind], inventories.map(arrived));
      if (round >= WARM_UP_ROUNDS) rounds[kind].push(us);
    }
  return {
    figures: figuresOf(rounds),
    notes: [
      'Processor time of one inventory of 200 images, from its bytes to the signed records that are published, all kinds in turns in one process. Fetching, compression and publishing, which signatures do not change, are left out: beside a whole worker the ratios are nearer to 1.',
      '"facts too": the signature of the inventory is verified before it is parsed, as that of an order is.',
    ],
  };
}

const inventoryOf = (at: number): Inventory => ({
  ...fullNode(`node-${at}`, { images: 200, containers: 30 }),
  id: `inventory-${at}`,
});

/** Bytes that nobody has seen before. */
const arrived = (record: OutgoingRecord, at: number): LogRecord => ({
  ...record,
  value: Buffer.from(record.value ?? ''),
  partition: 0,
  offset: BigInt(at),
  timestampMs: SIGNED_AT_MS,
});

function workOf(nodePublicKey: string): Readonly<Record<Kind, Work>> {
  const [root, decider] = [newKey(), newKey()];
  const ring = new KeyRing(rootsOf(root));
  ring.add(certified(root, decider));
  const required = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => SIGNED_AT_MS });
  const signer = signerOf({ fleet: FLEET, role: 'decider', key: () => decider });
  return {
    checked: async (records) => {
      for (const record of records) require(parseRecord('inventory', record).ok);
    },
    off: worker(TRUST_OFF, UNSIGNED),
    signed: worker(required, signer),
    factsToo: worker(alsoOfFacts(required, nodePublicKey), signer),
  };
}

function alsoOfFacts(required: Trust, publicKey: string): Trust {
  return {
    authenticate: (topic, record) => {
      const claimed = claimedSignature(record.headers);
      require(claimed.kind === 'claimed' && isSignedBy(publicKey, FLEET, record, claimed.signature));
      return required.authenticate(topic, record);
    },
    objectionToHeaders: () => null,
    objectionTo: () => null,
  };
}

function worker(trust: Trust, signer: Signer): Work {
  const parse = parseBelieved(trust);
  const log = { publish: async (records: readonly OutgoingRecord[]) => madeUpPositions(records) };
  const publisher = createPublisher({
    log,
    source: '/fleetgc/bench',
    now: Date.now,
    ids: randomTraceIds,
    signer,
  });
  const policies = policySet();
  const handle = imageGcHandler(() => policies);
  const handlers = { inventory: (input: Input<Inventory>): Outputs => handle(input) };
  return async (records) => {
    for (const record of records) {
      const parsed = parse('inventory', record);
      const handled = await decide('inventory', { kind: 'read', record, parsed }, { handlers, publisher });
      require(handled.failure === null && handled.stages.flat().length === 2);
    }
  };
}

function require(holds: boolean): void {
  if (!holds) throw new Error('an inventory was not decided on as the others');
}

async function timeOf(work: Work, records: readonly LogRecord[]): Promise<number> {
  const before = process.cpuUsage();
  await work(records);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / records.length;
}

function figuresOf(rounds: Rounds): readonly Figure[] {
  const row = (name: string, of: Kind, beside: Kind, limit: number | null): Figure => ({
    benchmark: 'signatures',
    name,
    unit: 'µs',
    value: spreadOf(rounds[of]),
    baseline: spreadOf(rounds[beside]),
    baselineName: beside === 'off' ? 'nothing signed' : 'parses and checks, decides nothing',
    samples: ROUNDS * INVENTORIES,
    aim: limit === null ? null : { kind: 'ratio-at-most', limit },
  });
  return [
    row('an inventory decided on, orders and policies signed', 'signed', 'off', 1.11),
    row('the same, facts signed too', 'factsToo', 'off', 1.43),
    row('an inventory decided on, nothing signed', 'off', 'checked', null),
  ];
}
