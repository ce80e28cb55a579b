import type { Output } from '../../../packages/decision/handler.ts';
import type { PolicySource } from '../../../packages/policy/policies.ts';
import type { Policy, PolicySet } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { NodeFault } from '../fleet/fleet-faults.ts';
import { availableAt, type Fleet, type FleetNode } from '../fleet/fleet-node.ts';
import type { WorkloadEvent } from '../fleet/fleet-workload.ts';
import type { Removal, RemovedKind } from '../fleet/node-runtime.ts';
import { type Wrong, wrongsOf } from '../fleet/wrong-removals.ts';
import { type CommandTally, createCommandTally } from './command-tally.ts';
import { type Counter, type Counts, createCounter } from './counter.ts';
import { createOrderTally, type OrderTally } from './order-tally.ts';
import { createPressureTally, type PressureTally } from './pressure-tally.ts';

/** A removal that should not have been. */
export interface WrongRemoval extends Pick<Removal, 'kind' | 'id'> {
  readonly node: string;
  readonly atMs: number;
  readonly why: readonly (Wrong | 'not-listed')[];
}

/** Everything that a run has to account for. */
export interface FleetTally {
  readonly commanded: CommandTally;
  readonly orders: OrderTally;
  readonly pressures: PressureTally;
  readonly nodeFaults: Counter<NodeFault>;
  readonly life: Counter<WorkloadEvent['what']>;
  /** Something is about to go from a node: held against the truth. */
  removal(node: FleetNode, removal: Removal): void;
  acknowledged(node: FleetNode, output: Output): void;
  measured(node: FleetNode): void;
  onFault(fault: NodeFault): void;
  removals(): RemovalCounts;
}

export interface RemovalCounts {
  /** In truth, by kind. */
  readonly done: Counts<RemovedKind>;
  readonly wrong: number;
  readonly wrongs: readonly WrongRemoval[];
  readonly twice: number;
  readonly pressureUnrelieved: number;
}

const WRONGS_REPORTED = 20;

export interface TallyParts {
  readonly fleet: Fleet;
  readonly policies: Pick<PolicySource, 'current' | 'problem'>;
  /** Milliseconds of a clock of the machine that does not jump. */
  readonly realNowMs: () => number;
}

export function createFleetTally({ fleet, policies, realNowMs }: TallyParts): FleetTally {
  const nowMs = () => fleet.time.now();
  const commanded = createCommandTally(nowMs);
  const orders = createOrderTally(nowMs);
  const pressures = createPressureTally(nowMs, realNowMs);
  const nodeFaults = createCounter<NodeFault>();
  const life = createCounter<WorkloadEvent['what']>();
  const done = createCounter<RemovedKind>();
  const counts = { wrong: 0, twice: 0, pressureUnrelieved: 0 };
  const wrongs: WrongRemoval[] = [];
  const policyOf = policyInForce(policies);
  const note = (node: FleetNode, removal: Removal, why: WrongRemoval['why']): void => {
    if (why.length === 0) return;
    counts.wrong += 1;
    const { kind, id } = removal;
    if (wrongs.length < WRONGS_REPORTED)
      wrongs.push({ node: node.identity.node, kind, id, atMs: nowMs(), why });
  };
  return {
    commanded,
    orders,
    pressures,
    nodeFaults,
    life,
    removal: (node, removal) => {
      const why = wrongsOf(removal, { node, nowMs: nowMs(), policy: policyOf(node) });
      if (removal.kind === 'stopped-container' || removal.kind === 'stopped-sandbox')
        return note(node, removal, why);
      const taken = commanded.takes(node.identity.node, removal.kind, removal.id);
      if (taken === 'twice') counts.twice += 1;
      note(node, removal, taken === 'not-listed' ? ['not-listed', ...why] : why);
      done.add(removal.kind);
      pressures.removed(node.identity.node);
    },
    acknowledged: (node, { event }) => {
      if (event.type === 'fleetgc.node.inventory' && event.trigger === 'order')
        orders.answered(node.identity.node);
      if (event.type === 'fleetgc.node.object-result') commanded.objectResult(event);
      if (event.type === 'fleetgc.node.command-result') commanded.commandResult(event);
      if (event.type === 'fleetgc.node.pressure-unrelieved') counts.pressureUnrelieved += 1;
    },
    measured: (node) => {
      const { capacityBytes } = node.disk;
      const availableBytes = availableAt(node, nowMs());
      pressures.measured(node.identity.node, { capacityBytes, availableBytes }, policyOf(node));
    },
    onFault: (fault) => nodeFaults.add(fault),
    removals: () => ({ done: { ...done.counts }, wrongs, ...counts }),
  };
}

/**
 * The policy under which something may go from a node now; `null` where nothing may. While the log cannot be read, it is
 * the last one known: what was begun under it goes on.
 */
function policyInForce(policies: TallyParts['policies']): (node: FleetNode) => Policy | null {
  let known: { readonly set: PolicySet; readonly of: Map<number, Policy | null> } | null = null;
  const readLately = (): typeof known => {
    if (policies.problem() !== null) return known;
    const set = policies.current.node();
    return known?.set.hash === set.hash ? known : { set, of: new Map() };
  };
  return ({ index, identity, nodeLabels }) => {
    known = readLately();
    if (known === null) return null;
    const cached = known.of.get(index);
    if (cached !== undefined) return cached;
    const selection = selectPolicy(known.set, { ...identity, nodeLabels });
    const policy =
      selection.kind === 'policy' && selection.record.policy.mode === 'enforce'
        ? selection.record.policy
        : null;
    known.of.set(index, policy);
    return policy;
  };
}
