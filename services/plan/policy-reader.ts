import { policySet } from '../../packages/decision/policy-set.ts';
import { overridden, type PolicyOverride, readPolicyFiles } from '../../packages/policy/file/file.ts';
import { toPolicyRecord } from '../../packages/policy/policy-changes.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { PolicyFile } from '../../schemas/policy/policy-file.ts';

/** The one policy as all the policies that there are, or every problem of it, a sentence each. */
export type ReadPolicy =
  | { readonly ok: true; readonly policies: PolicySet }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads a policy that is written as in a policy file, as JSON. */
export type PolicyReader = (written: unknown) => ReadPolicy;

/** Whoever asks about many nodes asks about few policies. */
const MOST_REMEMBERED = 1_000;

/** Equal texts are read once. */
export function policyReader(override: PolicyOverride): PolicyReader {
  const remembered = new Map<string, ReadPolicy>();
  return (written) => {
    const text = JSON.stringify(written);
    const known = remembered.get(text);
    if (known !== undefined) return known;
    const read = readPolicy(written, text, override);
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(text, read);
    return read;
  };
}

/** Schemas pass over this key, and with it over a condition on nodes; the reader of files tells it. */
const LOST_KEY = '"__proto__"';

/** The reader of files knows best what to say of a policy that is wrong, and JSON is YAML; it takes its time. */
function readPolicy(written: unknown, text: string, override: PolicyOverride): ReadPolicy {
  const { data } = PolicyFile.safeParse(overridden(written, override));
  if (data && !text.includes(LOST_KEY)) return setOf({ policy: data, source: text });
  const files = readPolicyFiles([{ file: 'policy', text }], override);
  if (!files.valid)
    return {
      ok: false,
      problems: files.problems.map(({ path, message }) =>
        path === '' ? `policy: ${message}` : `policy.${path}: ${message}`,
      ),
    };
  const [policy] = files.policies;
  return policy === undefined ? { ok: false, problems: ['policy: there is none'] } : setOf(policy);
}

const setOf = (written: Parameters<typeof toPolicyRecord>[0]): ReadPolicy => ({
  ok: true,
  policies: policySet([toPolicyRecord(written)], []),
});
