import type { Logger } from 'pino';
import { OWN_RULES } from '../../packages/decision/own-rules.ts';
import type { LogReader } from '../../packages/log/port.ts';
import {
  type PolicyOverride,
  readPolicyFiles,
  type WrittenPolicy,
} from '../../packages/policy/file/read-policy-file.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { policyChanges } from '../../packages/policy/policy-changes.ts';
import { selectorText } from '../../packages/policy/selector-text.ts';
import { readStoredPolicies, type StoredPolicies } from '../../packages/policy/stored-policies.ts';
import { deleteKeys, type PolicyWriter, writePolicies } from '../../packages/policy/write-policies.ts';
import { counted } from '../../packages/text/counted.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import { isPauseKey, type PolicyRecordOf, type PolicySetOf, policyKey } from '../../schemas/policy/policy.ts';
import { type SelectableSubject, selectPolicy } from '../../schemas/policy/policy-selection.ts';
import { loadPolicyFiles, requireValid } from '../framework/policy-files.ts';
import { resumeOnEventLog } from '../options/steering-options.ts';

/** What holds when nobody says what should: the kubelet's defaults, and nothing goes. */
const DEFAULT_POLICY = `# The kubelet's defaults, without removing anything.
name: default
mode: dry-run
`;

interface PolicyAsking {
  readonly logger: Logger;
  /** What follows from a policy that is wrong, for its error. */
  readonly consequence: string;
  readonly override?: PolicyOverride;
}

/** The policies of the files, or the defaults in dry-run. Throws `POLICY_INVALID` or `USAGE`. */
export const policiesOf = (
  paths: readonly string[],
  { logger, consequence, override = {} }: PolicyAsking,
): readonly WrittenPolicy[] =>
  requireValid(
    paths.length === 0
      ? readPolicyFiles([{ file: 'default policy', text: DEFAULT_POLICY }], override)
      : loadPolicyFiles(paths, override),
    logger,
    consequence,
  );

/** What `run` did to the policies of its log. */
export interface Settled {
  /** Names of policies of an earlier run that no longer hold. */
  readonly deleted: readonly string[];
  /** Pauses outlive a restart: only `fleetgc resume` ends one. */
  readonly pauses: StoredPolicies['pauses'];
}

/**
 * Makes the log hold exactly these policies: one that an earlier run left behind must not enforce what nobody asked for
 * this time. To be called before anything decides.
 */
export async function settlePolicies(
  writer: PolicyWriter & { readonly log: LogReader },
  records: readonly PolicyRecordOf<SubjectKind>[],
  signal: AbortSignal,
): Promise<Settled> {
  const stored = await readStoredPolicies(writer.log, signal);
  const keys = new Set(records.map(policyKey));
  const unreadable = stored.unreadable.map(({ key }) => key).filter((key) => !isPauseKey(key));
  const deleted = [...stored.policies.keys(), ...unreadable].filter((key) => !keys.has(key));
  await deleteKeys(writer, deleted);
  await writePolicies(writer, policyChanges(records, stored.policies, new Set()));
  return { deleted, pauses: stored.pauses };
}

/** Which policy this subject has, and whether anything can go. */
interface Holding {
  readonly isPaused: boolean;
  readonly line: string;
}

interface HoldingFor<Kind extends SubjectKind> {
  readonly policies: PolicySetOf<Kind>;
  readonly subject: SelectableSubject<Kind>;
  readonly logPath: string;
}

/** What people are to know of a policy: what becomes of what it allows. */
const POLICY_TEXTS: { readonly [Kind in SubjectKind]: (record: PolicyRecordOf<Kind>) => string } = {
  node: ({ policy: { name, mode } }) =>
    mode === 'enforce'
      ? `Policy ${name}: enforce. What it allows will be removed.`
      : `Policy ${name}: dry-run. Nothing will be removed.`,
  cluster: ({ policy: { name, mode, collectors, rules = [] } }) => {
    if (mode === 'dry-run') return `Policy ${name}: dry-run. Nothing will be removed.`;
    const own = rules.length === 0 ? [] : [counted(rules.length, 'rule of its own', 'rules of its own')];
    const work = [...collectors, ...own];
    if (work.length === 0)
      return `Policy ${name}: ${mode}, and it gives FleetGC no collector and has no rules. Nothing will be removed.`;
    return mode === 'enforce'
      ? `Policy ${name}: enforce, for ${work.join(', ')}. What it allows will be removed.`
      : `Policy ${name}: rehearse, for ${work.join(', ')}. The API server is asked, and nothing will be removed.`;
  },
};

export function holdingNow<Kind extends SubjectKind>({
  policies,
  subject,
  logPath,
}: HoldingFor<Kind>): Holding {
  const selection = selectPolicy(policies, subject);
  switch (selection.kind) {
    case 'none':
      return {
        isPaused: false,
        line: `No policy selects this ${policies.subject}: nothing will be removed.`,
      };
    case 'too-costly':
      return { isPaused: false, line: `Nothing will be removed: ${OWN_RULES.P10}.` };
    case 'paused': {
      const { selector, reason } = selection.pause;
      const resume = resumeOnEventLog(selector, { log: 'embedded', logPath });
      return {
        isPaused: true,
        line: `Paused (${selectorText(selector)}${reason === '' ? '' : `: ${reason}`}): nothing will be removed until "${resume}".`,
      };
    }
    case 'policy':
      return { isPaused: false, line: POLICY_TEXTS[policies.subject](selection.record) };
  }
}

interface ChangesOf<Kind extends SubjectKind> extends Omit<HoldingFor<Kind>, 'policies'> {
  readonly policies: Pick<PolicySource, 'problem'>;
  readonly current: () => PolicySetOf<Kind>;
  readonly print: (line: string) => void;
}

/**
 * Tells what another process changed since: decisions say it as well, but may come minutes later. What cannot be read is
 * told by them alone.
 */
export function holdingChanges<Kind extends SubjectKind>({
  policies,
  current,
  subject,
  logPath,
  print,
}: ChangesOf<Kind>): () => void {
  const look = (): Holding | null =>
    policies.problem() === null ? holdingNow({ policies: current(), subject, logPath }) : null;
  let reported = look();
  return () => {
    const now = look();
    if (now === null || now.line === reported?.line) return;
    print(reported?.isPaused && !now.isPaused ? `Not paused any more. ${now.line}` : now.line);
    reported = now;
  };
}
