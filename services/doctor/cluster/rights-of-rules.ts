import type { AccessRight } from '../../../packages/kube-api/access-review.ts';
import { leaseRules, type Part, type RoleRule } from '../../cluster/access/rights.ts';

/** Each right of these rules by itself, as one asks for it. */
export const rightsOfRules = (rules: readonly RoleRule[], namespace?: string): readonly AccessRight[] =>
  rules.flatMap((rule): readonly AccessRight[] =>
    'nonResourceURLs' in rule
      ? rule.nonResourceURLs.flatMap((path) => rule.verbs.map((verb) => ({ path, verb })))
      : rule.apiGroups.flatMap((group) =>
          rule.resources.flatMap((resource) =>
            rule.verbs.flatMap((verb) =>
              (rule.resourceNames ?? [null]).map((name) => ({
                group,
                resource,
                verb,
                ...(name !== null && { name }),
                ...(namespace !== undefined && { namespace }),
              })),
            ),
          ),
        ),
  );

/** Replicas of a half take turns by a Lease of its own; `null`: they take none. */
export const leaseRights = (part: Part, namespace: string | null): readonly AccessRight[] =>
  part === 'run' || namespace === null ? [] : rightsOfRules(leaseRules(`fleetgc-cluster-${part}`), namespace);
