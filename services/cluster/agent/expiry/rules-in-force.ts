import { labelsAsked, rulesOn } from '../../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { LabelsAsked } from '../../../../packages/kube-api/expiring.ts';
import { kindName, type ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterPolicyRecord } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';

interface RulesOfKind {
  readonly rules: readonly OwnRule[];
  readonly labels: LabelsAsked;
}
const NONE: RulesOfKind = { rules: [], labels: null };

/** Rules of the policy in force that ask more of objects than annotations, by the kinds that they are for. */
export class RulesInForce {
  #hash = '';
  #byKind: ReadonlyMap<string, RulesOfKind> = new Map();

  rules(kind: Pick<ServedKind, 'group' | 'kind'>): readonly OwnRule[] {
    return this.#of(kind).rules;
  }

  labels(kind: Pick<ServedKind, 'group' | 'kind'>): LabelsAsked {
    return this.#of(kind).labels;
  }

  /** Kinds for which other rules hold now. Without a policy, and while nobody can tell, those of before stay: nobody decides by them. */
  update(record: ClusterPolicyRecord | null): readonly string[] {
    if (record === null || record.hash === this.#hash) return [];
    const before = this.#byKind;
    this.#hash = record.hash;
    this.#byKind = byKind(record.policy.rules ?? []);
    const kinds = new Set([...before.keys(), ...this.#byKind.keys()]);
    return [...kinds].filter((kind) => textOf(before.get(kind)) !== textOf(this.#byKind.get(kind)));
  }

  #of(kind: Pick<ServedKind, 'group' | 'kind'>): RulesOfKind {
    return this.#byKind.get(kindName(kind)) ?? NONE;
  }
}

function byKind(all: readonly OwnRule[]): ReadonlyMap<string, RulesOfKind> {
  const kinds = new Set(all.flatMap((rule) => rule.kinds));
  return new Map(
    [...kinds].flatMap((kind) => {
      const rules = rulesOn(all, kind);
      return rules.length === 0 ? [] : [[kind, { rules, labels: labelsAsked(rules) }]];
    }),
  );
}

const textOf = (of: RulesOfKind | undefined): string => JSON.stringify(of?.rules ?? []);
