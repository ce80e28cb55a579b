/** A slip in the product's sources, as somebody might make it. */
export interface PlantedBug {
  readonly name: string;
  readonly edits: readonly {
    /** Below the checkout. */
    readonly file: string;
    /** Stands there exactly once. */
    readonly old: string;
    readonly now: string;
  }[];
}

const EXECUTOR = 'services/node/executor';
const CLUSTER_EXECUTOR = 'services/cluster/executor';

export const PLANTED: readonly PlantedBug[] = [
  {
    name: 'pause-ignored',
    edits: [
      {
        file: 'schemas/policy/policy-selection.ts',
        old: 'const pause = set.pauses.find(',
        now: 'const pause = set.pauses.slice(set.pauses.length).find(',
      },
    ],
  },
  {
    name: 'lock-not-held',
    edits: [{ file: 'packages/files/file-lock.ts', old: "db.exec('BEGIN EXCLUSIVE');", now: '' }],
  },
  {
    name: 'journal-written-late',
    edits: [
      {
        file: `${EXECUTOR}/executor.ts`,
        old: "this.#progress(work, { state: 'in-hand', since: inHand.since });",
        now: '',
      },
    ],
  },
  {
    name: 'look-back-too-short',
    edits: [
      {
        file: `${EXECUTOR}/run.ts`,
        old: 'lookBackMs: MAX_COMMAND_LIFETIME_MS',
        now: 'lookBackMs: MAX_COMMAND_LIFETIME_MS / 600_000',
      },
    ],
  },
  {
    name: 'second-look-skipped',
    edits: [
      {
        file: `${EXECUTOR}/judge.ts`,
        old: 'return verdict(imageRefusal(image, command, { usage, history, local, keep: policy.keep }), {',
        now: 'void [imageRefusal, usage, history, local, policy];\n  return verdict(undefined, {',
      },
    ],
  },
  {
    name: 'keep-list-ignored',
    edits: [
      {
        file: `${EXECUTOR}/own-plan.ts`,
        old: 'planned(command, inventory, policy) :',
        now: 'planned(command, inventory, { ...policy, keep: { ...policy.keep, patterns: [] } }) :',
      },
      {
        file: `${EXECUTOR}/judge.ts`,
        old: 'keep: policy.keep }',
        now: 'keep: { ...policy.keep, patterns: [] } }',
      },
    ],
  },
  {
    name: 'own-plan-ignored',
    edits: [
      {
        file: `${EXECUTOR}/judge.ts`,
        old: 'const own = plan.itemOf(named);',
        now: 'const own = named as ReturnType<typeof plan.itemOf>;',
      },
    ],
  },
  {
    name: 'result-dropped-when-not-taken',
    edits: [
      {
        file: 'packages/records/outbox.ts',
        old: 'if (!isTooLarge(thrown)) return toFleetGcError(thrown).message;',
        now: 'if (!isTooLarge(thrown)) {\n        results.replaceFirst(batch.length, []);\n        return null;\n      }',
      },
    ],
  },
  {
    name: 'result-published-before-it-is-kept',
    edits: [
      {
        file: 'packages/records/outbox.ts',
        old: '    try {\n      await send(batch);',
        now: '    results.replaceFirst(batch.length, []);\n    try {\n      await send(batch);',
      },
      {
        file: 'packages/records/outbox.ts',
        old: '    results.replaceFirst(batch.length, []);\n    return null;',
        now: '    return null;',
      },
    ],
  },
  {
    name: 'duplicates-carried-out-twice',
    edits: [
      {
        file: `${EXECUTOR}/receive.ts`,
        old: '|| knows(journal.state(), command.id)) return;',
        now: ') return;\n  void knows;',
      },
    ],
  },
  {
    name: 'target-not-held',
    edits: [
      {
        file: `${EXECUTOR}/executor.ts`,
        old: 'const reached = isReached(reclaim.target, before);',
        now: 'const reached = isReached(reclaim.target, before) === null ? null : false;',
      },
    ],
  },
  {
    name: 'young-images-go',
    edits: [
      {
        file: 'packages/deciders/image-gc/rules/protection.ts',
        old: 'tooYoung(takenAtMs, policy.imageMinimumGCAgeMs)',
        now: 'tooYoung(takenAtMs, policy.imageMinimumGCAgeMs / 1_000)',
      },
    ],
  },
  {
    name: 'newest-dead-container-goes',
    edits: [
      {
        file: 'packages/deciders/container-gc/rules/dead-containers.ts',
        old: 'keepNewestOfUnit(young.units, policy.maximumDeadContainersPerContainer)',
        now: 'keepNewestOfUnit(young.units, policy.maximumDeadContainersPerContainer - 1)',
      },
    ],
  },
  {
    name: 'revocation-ignored-before-removal',
    edits: [
      {
        file: `${EXECUTOR}/checks.ts`,
        old: '  signerRefusal(command, restrictions) ??\n',
        now: '',
      },
    ],
  },
  {
    name: 'clock-back-over-expiry',
    edits: [
      {
        file: 'packages/records/trust/process-trust.ts',
        old: 'Math.max(nowMs(), seen.passedMs)',
        now: 'nowMs()',
      },
    ],
  },
  {
    name: 'unsigned-accepted',
    edits: [
      {
        file: 'packages/records/trust/trust.ts',
        old: "if ('distrust' in claim) return { ok: false, distrust: claim.distrust };",
        now: "if ('distrust' in claim)\n      return claim.distrust.reason === 'unsigned'\n        ? { ok: true, principal: NOBODY_PROVED }\n        : { ok: false, distrust: claim.distrust };",
      },
      {
        file: 'packages/records/trust/trust.ts',
        old: "if (keyId === null) return 'it carries no signature';",
        now: 'if (keyId === null) return null;',
      },
    ],
  },
  {
    name: 'any-role-orders',
    edits: [
      {
        file: 'packages/records/trust/trust.ts',
        old: 'if (!roles.includes(role)) return',
        now: 'if (roles.length === 0) return',
      },
    ],
  },
  {
    name: 'stolen-policies-stay',
    edits: [
      {
        file: 'packages/records/trust/trust.ts',
        old: '(isAboutNow || takenAtMs >= revocation.untrustedFromMs)',
        now: 'isAboutNow',
      },
    ],
  },
  {
    name: 'cluster-pause-ignored',
    edits: [
      {
        file: 'packages/records/commands.ts',
        old: 'const selection = selectPolicy(policies, subject);',
        now: 'const selection = selectPolicy({ ...policies, pauses: [] }, subject);',
      },
    ],
  },
  {
    name: 'live-proof-skipped',
    edits: [
      {
        file: `${CLUSTER_EXECUTOR}/live-reads.ts`,
        old: "if (found.kind === 'found' && found.object.uid === uid) return stateOf(found.object);",
        now: 'void stateOf;',
      },
    ],
  },
  {
    name: 'elsewhere-counts-as-gone',
    edits: [
      {
        file: 'packages/deciders/graph-gc/rules/conclude.ts',
        old: "...(isFleetgc ? [] : (['elsewhere'] as const))",
        now: "'elsewhere'",
      },
      {
        file: 'packages/deciders/graph-gc/rules/conclude.ts',
        old: "of('held', ...(isFleetgc ? (['elsewhere'] as const) : []))",
        now: "of('held')",
      },
    ],
  },
];
