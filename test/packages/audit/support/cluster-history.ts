import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { expiryGcHandler } from '../../../../packages/deciders/expiry-gc/decider.ts';
import { graphGcHandler } from '../../../../packages/deciders/graph-gc/decider.ts';
import { podGcHandler } from '../../../../packages/deciders/pod-gc/decider.ts';
import {
  clusterOutput,
  type DecidedOutputs,
  type InputPosition,
  type Output,
} from '../../../../packages/decision/handler.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { clusterCommandResultId, clusterObjectResultsId } from '../../../../packages/decision/result-ids.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { policySetOutput } from '../../../../packages/service/decision-writing.ts';
import { ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import { ClusterDecision } from '../../../../schemas/events/cluster-decision.ts';
import type {
  ClusterCommandResult,
  ClusterObjectResults,
} from '../../../../schemas/events/cluster-result.ts';
import type { Expiry } from '../../../../schemas/events/expiry.ts';
import type { Ownership } from '../../../../schemas/events/ownership.ts';
import type { Pods } from '../../../../schemas/events/pods.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { ClusterPolicyRecord } from '../../../../schemas/policy/cluster-policy.ts';
import { type PolicySetOf, policyKey } from '../../../../schemas/policy/policy.ts';
import { CLUSTER, clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { MINUTE, SECOND } from '../../../fixtures/time.ts';
import { outgoing } from '../../../support/logs/log-record.ts';

const BEGAN_MS = Date.now() - 60 * MINUTE;
export const POLICY = clusterPolicyRecord();
export const SET = policySet('cluster', [POLICY], []);

export type DecidedFact = Ownership | Pods | Expiry;

interface DecisionOn {
  readonly output: Output;
  readonly decide: (position: InputPosition) => DecidedOutputs;
}

function decisionOn(fact: DecidedFact, set: PolicySetOf<'cluster'>): DecisionOn {
  switch (fact.type) {
    case 'fleetgc.cluster.ownership':
      return {
        output: clusterOutput('clusterOwnership', fact),
        decide: (position) => graphGcHandler(() => set)({ event: fact, position }),
      };
    case 'fleetgc.cluster.pods':
      return {
        output: clusterOutput('clusterPods', fact),
        decide: (position) => podGcHandler(() => set)({ event: fact, position }),
      };
    case 'fleetgc.cluster.expiry':
      return {
        output: clusterOutput('clusterExpiry', fact),
        decide: (position) => expiryGcHandler(() => set)({ event: fact, position }),
      };
  }
}

/** The log of a cluster, to which things are added, each some time after the one before. */
export class ClusterHistory {
  readonly records: LogRecord[] = [];
  readonly #offsets = new Map<string, bigint>();
  nowMs = BEGAN_MS;

  add(output: Output, afterMs = SECOND): LogRecord {
    const record = outgoing(output);
    const partition = TOPICS[output.topic].partitions === 1 ? 0 : partitionOf(record.topic, record.key);
    const offset = this.#offsets.get(record.topic) ?? 0n;
    this.#offsets.set(record.topic, offset + 1n);
    this.nowMs += afterMs;
    const placed = { ...record, partition, offset, timestampMs: this.nowMs };
    this.records.push(placed);
    return placed;
  }

  /** What its service makes of a fact under a set of policies, on the log behind it. */
  decide(
    fact: DecidedFact,
    set: PolicySetOf<'cluster'> = SET,
  ): { readonly decision: LogRecord; readonly command: LogRecord | null } {
    const { output, decide } = decisionOn(fact, set);
    const { topic, partition, offset, value } = this.add(output);
    const position = { topic, partition, offset: String(offset), sha256: sha256Hex(value ?? '') };
    const [[record] = [], [command] = []] = decide(position);
    if (record === undefined) throw new Error('every decision has a record');
    return { decision: this.add(record), command: command === undefined ? null : this.add(command) };
  }

  carryOut(
    command: ClusterCommand,
    over: {
      readonly objects?: Partial<ClusterObjectResults>;
      readonly whole?: Partial<ClusterCommandResult>;
    } = {},
  ): void {
    this.add(
      clusterOutput('clusterResults', { ...objectResults(command, over.objects?.objects), ...over.objects }),
    );
    this.add(clusterOutput('clusterResults', { ...commandResult(command), ...over.whole }));
  }
}

const answering = ({ id: commandId, decisionId, takenAt: at }: ClusterCommand) => ({
  version: 1 as const,
  ...CLUSTER,
  at,
  commandId,
  decisionId,
});

export const objectResults = (
  command: ClusterCommand,
  objects: ClusterObjectResults['objects'] = command.items.map(({ object, rule, act: { action } }) => ({
    object,
    rule,
    action,
    attempts: 1,
    requests: 1,
    owners: [],
    result: { outcome: 'removed' },
  })),
): ClusterObjectResults => ({
  type: 'fleetgc.cluster.object-results',
  ...answering(command),
  id: clusterObjectResultsId({ ...CLUSTER, commandId: command.id }, objects),
  objects,
});

export const commandResult = (command: ClusterCommand): ClusterCommandResult => ({
  type: 'fleetgc.cluster.command-result',
  ...answering(command),
  id: clusterCommandResultId({ ...CLUSTER, commandId: command.id }),
  result: { outcome: 'done', counts: { removed: command.items.length } },
});

export const commandIn = (record: LogRecord | null): ClusterCommand =>
  ClusterCommand.parse(JSON.parse(String(record?.value)));
export const decisionIn = (record: LogRecord): ClusterDecision =>
  ClusterDecision.parse(JSON.parse(String(record.value)));

/** A log on which the policy was applied. */
export function begun(record: ClusterPolicyRecord = POLICY): ClusterHistory {
  const log = new ClusterHistory();
  log.add({ topic: 'policyVersions', key: record.hash, event: record });
  log.add({ topic: 'policies', key: policyKey(record), event: record });
  log.add(policySetOutput(policySet('cluster', [record], [])));
  return log;
}
