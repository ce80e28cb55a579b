import type { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import { KEPT_NAMESPACE, REPOSITORIES } from '../node/life.ts';

/** What the judge has to know of a policy, said apart from what the product makes of it. */
export interface PolicyFacts {
  readonly enforces: boolean;
  readonly keepsTeam: boolean;
  readonly minimumAgeMs: number;
  /** What was unused for longer goes from any disk; `null` where nothing goes by age. */
  readonly maximumUnusedMs: number | null;
  readonly highPercent: number;
  readonly lowPercent: number;
}

const USUAL: PolicyFacts = {
  enforces: true,
  keepsTeam: false,
  minimumAgeMs: 3_000,
  maximumUnusedMs: null,
  highPercent: 80,
  lowPercent: 60,
};

/** The policies that a schedule may put in force. All keep one repository and one namespace. */
export const POLICIES = {
  usual: USUAL,
  'keeps-team': { ...USUAL, keepsTeam: true },
  'dry-run': { ...USUAL, enforces: false },
  patient: { ...USUAL, minimumAgeMs: 25_000 },
  tidy: { ...USUAL, maximumUnusedMs: 5_000 },
  lazy: { ...USUAL, highPercent: 90, lowPercent: 84 },
} as const satisfies Record<string, PolicyFacts>;
export type PolicyId = keyof typeof POLICIES;
export const POLICY_IDS = [
  'usual',
  'keeps-team',
  'dry-run',
  'patient',
  'tidy',
  'lazy',
] as const satisfies PolicyId[];

/** Of each container of a pod that still runs, so many dead ones stay under every policy. */
export const DEAD_PER_CONTAINER = 1;
const POLICY_NAME = 'chaos';

export const policyFile = (id: PolicyId): PolicyFile => {
  const { enforces, minimumAgeMs, maximumUnusedMs, highPercent, lowPercent, ...facts } = POLICIES[id];
  return {
    name: POLICY_NAME,
    mode: enforces ? 'enforce' : 'dry-run',
    imageGCHighThresholdPercent: highPercent,
    imageGCLowThresholdPercent: lowPercent,
    imageMinimumGCAge: `${minimumAgeMs}ms`,
    imageMaximumGCAge: `${maximumUnusedMs ?? 0}ms`,
    minimumCreatedContainerAge: '5s',
    maximumDeadContainersPerContainer: DEAD_PER_CONTAINER,
    commandLifetime: '30s',
    keep: {
      images: [`${REPOSITORIES.always}/*`, ...(facts.keepsTeam ? [`${REPOSITORIES.team}/*`] : [])],
      namespaces: [KEPT_NAMESPACE],
    },
  };
};
