import fc from 'fast-check';
import { containerGcHandler } from '../../../../packages/deciders/container-gc/decider.ts';
import { expiryGcHandler } from '../../../../packages/deciders/expiry-gc/decider.ts';
import { graphGcHandler } from '../../../../packages/deciders/graph-gc/decider.ts';
import { imageGcHandler } from '../../../../packages/deciders/image-gc/decider.ts';
import { podGcHandler } from '../../../../packages/deciders/pod-gc/decider.ts';
import { pressureHandler, resultsHandler } from '../../../../packages/deciders/pressure/decider.ts';
import { policySet as policySetFor, policySetRecord } from '../../../../packages/decision/policy-set.ts';
import { NodeWatch } from '../../../../packages/read-model/fleet-watch.ts';
import type { OnEvent } from '../../../../packages/records/decide.ts';
import { certificate, revocation } from '../../../../packages/records/trust/statement.ts';
import type { EventOf, TopicId } from '../../../../schemas/events/topics.ts';
import { type ClusterPolicy, Collector } from '../../../../schemas/policy/cluster-policy.ts';
import { appliedPolicy } from '../../../../test/fixtures/applied-policy.ts';
import { arbitraryNode } from '../../../../test/fixtures/arbitrary-node.ts';
import { census } from '../../../../test/fixtures/census.ts';
import {
  clusterCommand,
  clusterCommandResult,
  clusterDecision,
  clusterObjectResults,
  clusterPolicyRecord,
  clusterRemoved,
} from '../../../../test/fixtures/cluster.ts';
import { containerRemoval, imageRemoval, logRemoval } from '../../../../test/fixtures/command.ts';
import { diskStats } from '../../../../test/fixtures/disk-stats.ts';
import { expiry, expiryCandidate, podEnd, requestFacts } from '../../../../test/fixtures/expiry.ts';
import { incompleteInventory, tooLargeInventory } from '../../../../test/fixtures/inventory.ts';
import { latestNodeFact } from '../../../../test/fixtures/latest-fact.ts';
import { observe } from '../../../../test/fixtures/observe.ts';
import { decision } from '../../../../test/fixtures/outputs.ts';
import { candidate, owner, ownership } from '../../../../test/fixtures/ownership.ts';
import { DELETED_AT, podCandidate, pods } from '../../../../test/fixtures/pods.ts';
import { deletionRecord, pauseRecord, policySet } from '../../../../test/fixtures/policy.ts';
import { reclaim, WHOLE_DISK } from '../../../../test/fixtures/reclaim.ts';
import {
  objectResult,
  pressureUnrelieved,
  reclaimGoesOn,
  refusedCommand,
} from '../../../../test/fixtures/results.ts';
import { newKey, SIGNED_AT_MS } from '../../../../test/fixtures/trust.ts';
import { someNode } from '../../../../test/packages/deciders/pressure/arbitrary.ts';
import { arbitraryForgery } from '../../../../test/pipeline/support/attacker.ts';
import { NO_METRICS, SILENT } from '../../../../test/support/silent.ts';
import { auditReader, decisionsReader, headReader, namesReader } from './audit.ts';
import { clusterCommandsOfNow, clusterExecutorReader } from './cluster-orders.ts';
import { decidingReader, toTheSameNode } from './deciding.ts';
import { heldNodesReader, measuredReader } from './facts.ts';
import { archivedHeadsReader, archiveHead, decisionHead, headsReader } from './heads.ts';
import { agentReader, executorReader, IMAGE_IDS } from './orders.ts';
import { signaturesReader, warnedReader } from './signatures.ts';
import {
  deadLettersReader,
  keyRingReader,
  policyEvidenceReader,
  policyHistoryReader,
  policySourceReader,
  policyWriterReader,
  seenVersionsReader,
  storedPoliciesReader,
  unsignedStatesReader,
} from './state.ts';
import type { TopicReaders } from './topic-readers.ts';
import { undoReader } from './undo.ts';

const policies = () => policySet();
/** Gives FleetGC all the work that a policy can give. */
const clusterPolicies = () => policySetFor('cluster', [clusterPolicyRecord(ALL_WORK)], []);
const ALL_WORK: Partial<ClusterPolicy> = {
  collectors: [...Collector.options],
  terminatedPodGCThreshold: 1,
  rules: [
    {
      name: 'old',
      kinds: ['apps/Deployment'],
      namespaces: ['ns'],
      propagation: 'Background',
      removalsPerHour: 100,
    },
  ],
};

/** What decision services tell beside their handlers. */
const watching = (): { readonly onEvent: OnEvent } => {
  const watch = new NodeWatch({ policies, logger: SILENT, metrics: NO_METRICS, now: () => 0 });
  return { onEvent: (event, record) => watch.received(event, record) };
};

const sampled = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number): readonly T[] =>
  fc.sample(arbitrary, { numRuns, seed: 17 });

const letter = (over: Partial<EventOf<'deadLetters'>> = {}) => ({
  type: 'fleetgc.dead-letter',
  version: 1,
  id: 'letter-1',
  cause: 'not-json',
  message: 'the value is not JSON',
  group: 'fleetgc-image-gc',
  topic: 'gc.node.inventory',
  partition: 1,
  offset: '42',
  timestampMs: SIGNED_AT_MS,
  key: Buffer.from('prod/web-1').toString('base64'),
  value: Buffer.from('{').toString('base64'),
  headers: {},
  omittedBytes: 0,
  suppressedBefore: 0,
  ...over,
});

const KEY = {
  publicKey: newKey().publicKey,
  role: 'decider',
  clusters: [],
  name: 'a key',
  issuedAtMs: SIGNED_AT_MS,
  notAfterMs: SIGNED_AT_MS + 1,
} as const;

/** Who reads each topic. A topic without readers here does not compile. */
export const TOPIC_READERS: { readonly [Id in TopicId]: TopicReaders } = {
  diskStats: {
    events: () => [diskStats(), ...sampled(someNode, 20)],
    readers: {
      pressure: decidingReader('diskStats', () => ({
        handlers: { diskStats: pressureHandler(policies) },
        judge: toTheSameNode,
        ...watching(),
      })),
      'look ahead': headReader('diskStats'),
      audit: auditReader('diskStats'),
      'signatures of verify': signaturesReader('diskStats'),
      'trust that warns': warnedReader('diskStats'),
    },
  },
  inventory: {
    events: () => [
      incompleteInventory,
      tooLargeInventory,
      ...sampled(arbitraryNode, 12),
      ...sampled(arbitraryNode, 6).map((node) => ({ ...node, reclaim: reclaim({ step: 'containers' }) })),
    ],
    readers: {
      'container-gc': decidingReader('inventory', () => ({
        handlers: { inventory: containerGcHandler(policies) },
        judge: toTheSameNode,
      })),
      'image-gc': decidingReader('inventory', () => ({
        handlers: { inventory: imageGcHandler(policies) },
        judge: toTheSameNode,
      })),
      'look ahead': headReader('inventory'),
      audit: auditReader('inventory'),
      'signatures of verify': signaturesReader('inventory'),
      'trust that warns': warnedReader('inventory'),
      'index of names': namesReader,
    },
  },
  observe: {
    events: () => [
      observe(),
      ...sampled(arbitraryForgery, 10).map(({ claimed }) => observe({ reclaim: claimed })),
    ],
    readers: {
      'node-agent': agentReader,
      audit: auditReader('observe'),
      'signatures of verify': signaturesReader('observe'),
      'trust that warns': warnedReader('observe'),
    },
  },
  commands: {
    events: () => [
      imageRemoval(IMAGE_IDS),
      imageRemoval(IMAGE_IDS, { reclaim: reclaim(WHOLE_DISK) }),
      containerRemoval(['container-1', 'sandbox-1']),
      containerRemoval(['container-2', 'running']),
      logRemoval(['default_web_pod-1', 'a_b_c-1.log']),
    ],
    readers: {
      'node-executor': executorReader,
      'index of names': namesReader,
      audit: auditReader('commands'),
      'signatures of verify': signaturesReader('commands'),
      'trust that warns': warnedReader('commands'),
    },
  },
  results: {
    events: () => [
      objectResult(),
      refusedCommand(),
      reclaimGoesOn(),
      pressureUnrelieved(),
      ...sampled(arbitraryForgery, 5).map(({ claimed }) => reclaimGoesOn({ reclaim: claimed })),
    ],
    readers: {
      pressure: decidingReader('results', () => ({
        handlers: { results: resultsHandler(policies) },
        judge: toTheSameNode,
        ...watching(),
      })),
      'index of names': namesReader,
      audit: auditReader('results'),
      'signatures of verify': signaturesReader('results'),
      'trust that warns': warnedReader('results'),
      status: heldNodesReader,
      simulate: measuredReader,
    },
  },
  decisions: {
    events: () => [decision(), decision({ outcome: 'dry-run', reclaim: reclaim() }), pressureUnrelieved()],
    readers: {
      verify: decisionsReader('decisions'),
      'index of names': namesReader,
      audit: auditReader('decisions'),
    },
  },
  clusterOwnership: {
    events: () => [
      ownership(),
      ownership({ candidates: [candidate(), candidate({ references: [owner('o', { state: 'gone' })] })] }),
    ],
    readers: {
      'graph-gc': decidingReader('clusterOwnership', () => ({
        handlers: { clusterOwnership: graphGcHandler(clusterPolicies) },
        judge: toTheSameNode,
      })),
      audit: auditReader('clusterOwnership'),
      'signatures of verify': signaturesReader('clusterOwnership'),
      'trust that warns': warnedReader('clusterOwnership'),
    },
  },
  clusterPods: {
    events: () => [
      pods(),
      pods({
        totals: { terminated: 20_000, onMissingNodes: 1 },
        candidates: [
          podCandidate({ phase: 'Failed' }),
          podCandidate({ node: { state: 'missing', name: 'n', missingForMs: 60_000 } }),
          podCandidate({ object: { deletionTimestamp: DELETED_AT }, node: { state: 'none' } }),
        ],
      }),
    ],
    readers: {
      'pod-gc': decidingReader('clusterPods', () => ({
        handlers: { clusterPods: podGcHandler(clusterPolicies) },
        judge: toTheSameNode,
      })),
      audit: auditReader('clusterPods'),
      'signatures of verify': signaturesReader('clusterPods'),
      'trust that warns': warnedReader('clusterPods'),
    },
  },
  clusterExpiry: {
    events: () => [
      expiry(),
      expiry({ candidates: [expiryCandidate(), expiryCandidate({ facts: requestFacts() })] }),
      expiry({
        candidates: [
          expiryCandidate({ facts: { of: 'object' }, annotations: { 'fleetgc.io/ttl': '1h' } }),
          expiryCandidate({ facts: podEnd('Succeeded') }),
        ],
      }),
    ],
    readers: {
      'expiry-gc': decidingReader('clusterExpiry', () => ({
        handlers: { clusterExpiry: expiryGcHandler(clusterPolicies) },
        judge: toTheSameNode,
      })),
      audit: auditReader('clusterExpiry'),
      'signatures of verify': signaturesReader('clusterExpiry'),
      'trust that warns': warnedReader('clusterExpiry'),
    },
  },
  clusterCommands: {
    events: () => [clusterCommand(), ...clusterCommandsOfNow()],
    readers: {
      'cluster-executor': clusterExecutorReader,
      audit: auditReader('clusterCommands'),
      'signatures of verify': signaturesReader('clusterCommands'),
      'trust that warns': warnedReader('clusterCommands'),
    },
  },
  clusterRemoved: {
    events: () => [clusterRemoved(), clusterRemoved({ saved: { as: 'name', because: 'secret' } })],
    readers: {
      undo: undoReader,
      audit: auditReader('clusterRemoved'),
      'signatures of verify': signaturesReader('clusterRemoved'),
      'trust that warns': warnedReader('clusterRemoved'),
    },
  },
  clusterResults: {
    events: () => [clusterObjectResults(), clusterCommandResult()],
    readers: {
      audit: auditReader('clusterResults'),
      'signatures of verify': signaturesReader('clusterResults'),
      'trust that warns': warnedReader('clusterResults'),
    },
  },
  clusterDecisions: {
    events: () => [clusterDecision()],
    readers: { verify: decisionsReader('clusterDecisions'), audit: auditReader('clusterDecisions') },
  },
  clusterCensus: {
    events: () => [census()],
    readers: {
      audit: auditReader('clusterCensus'),
      'signatures of verify': signaturesReader('clusterCensus'),
      'trust that warns': warnedReader('clusterCensus'),
    },
  },
  policies: {
    events: () => [
      appliedPolicy(),
      appliedPolicy({ name: 'other', mode: 'dry-run' }),
      clusterPolicyRecord(),
      pauseRecord(),
      deletionRecord('default'),
      deletionRecord('!pause'),
    ],
    readers: {
      'policy source': policySourceReader,
      'policy verbs': storedPoliciesReader,
      audit: auditReader('policies'),
      'policy sign': unsignedStatesReader,
      'policy writers': policyWriterReader,
      report: policyEvidenceReader,
      'signatures of verify': signaturesReader('policies'),
      'trust that warns': warnedReader('policies'),
    },
  },
  policyVersions: {
    events: () => [
      appliedPolicy(),
      clusterPolicyRecord(),
      policySetRecord(policySet()),
      policySetRecord(policySet({}, [pauseRecord()])),
      pauseRecord(),
      deletionRecord('default'),
      deletionRecord('!pause'),
    ],
    readers: {
      'policy history': policyHistoryReader,
      'decision service': seenVersionsReader,
      audit: auditReader('policyVersions'),
      'policy writers': policyWriterReader,
      'trust that warns': warnedReader('policyVersions'),
    },
  },
  keys: {
    events: () => [
      certificate(KEY),
      certificate({ ...KEY, role: 'root', clusters: ['prod'] }),
      revocation({ ...KEY, keyId: '0'.repeat(32), reason: 'lost', untrustedFromMs: SIGNED_AT_MS }),
    ],
    readers: { 'key source': keyRingReader, audit: auditReader('keys') },
  },
  heads: {
    events: () => [archiveHead(), decisionHead()],
    readers: {
      verify: headsReader,
      'verify of an archive': archivedHeadsReader,
      audit: auditReader('heads'),
      'signatures of verify': signaturesReader('heads'),
      'trust that warns': warnedReader('heads'),
    },
  },
  latestFacts: {
    events: () => [latestNodeFact(), latestNodeFact({ offset: '0' })],
    readers: {
      audit: auditReader('latestFacts'),
      'signatures of verify': signaturesReader('latestFacts'),
      'trust that warns': warnedReader('latestFacts'),
    },
  },
  deadLetters: {
    events: () => [
      letter(),
      letter({ topic: 'gc.node.commands' }),
      letter({ value: null, omittedBytes: 7 }),
      {
        type: 'fleetgc.dead-letter-redrive',
        version: 1,
        id: 'redrive-1',
        deadLetterId: 'letter-1',
        key: null,
      },
    ],
    readers: { 'dead-letters verbs': deadLettersReader, audit: auditReader('deadLetters') },
  },
};
