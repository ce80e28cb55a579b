import { z } from 'zod';
import { readPolicyFiles } from '../../../../packages/policy/file/read-policy-file.ts';
import { readKubeletFile } from '../../../../packages/policy/from-kubelet/from-kubelet.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { readTrustRoots } from '../../../../packages/records/trust/roots-file.ts';
import { readSignedRecord, signedRecordText } from '../../../../packages/records/trust/statement.ts';
import { TrustRoots } from '../../../../schemas/keys/trust-roots.ts';
import { KubeletConfiguration } from '../../../../schemas/policy/kubelet-configuration.ts';
import { Policy } from '../../../../schemas/policy/policy.ts';
import { PolicyFile } from '../../../../schemas/policy/policy-file.ts';
import { parseLocalRules } from '../../../../services/node/executor/local-rules.ts';
import { certified, newKey, rootsOf } from '../../../../test/fixtures/trust.ts';
import { type Outcome, PASSED, REFUSED, type Target } from '../../engine/target.ts';
import { asArray, asObject, schemaOf } from '../../mutate/schema.ts';
import { structuredEvent } from './structured-event.ts';
import { edited, isUntouched, placeFor, putFile, written, writtenSchema, yamlIn } from './written.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });

const policyFile: Target = {
  readers: ['policy verbs', 'run', 'plan'],
  schema: schemaOf(writtenSchema(PolicyFile)),
  seeds: () => [
    written({ name: 'default', mode: 'dry-run' }),
    written(
      {
        name: 'default',
        mode: 'enforce',
        selector: { clusters: ['prod'], nodeNames: ['web-*'], nodeLabels: { a: 'b' } },
        imageGCHighThresholdPercent: 80,
        imageGCLowThresholdPercent: 70,
        imageMinimumGCAge: '1h',
        evictionHard: { 'imagefs.available': '15%', 'nodefs.inodesFree': '5%' },
        keep: { images: ['registry.example/base/**'], labels: { keep: 'yes' }, lastVersions: 2 },
      },
      { name: 'other', mode: 'enforce', profile: 'kubelet', maximumDeadContainers: 10 },
    ),
  ],
  open: () => (input) => {
    const read = readPolicyFiles([{ file: 'policy.yaml', text: yamlIn(input) }]);
    if (!read.valid) return read.problems.length > 0 ? REFUSED : effect('a file is refused without a reason');
    const isWhole = read.policies.every(({ policy }) => Policy.safeParse(policy).success);
    return isWhole ? PASSED : effect('a policy file makes a policy that nobody can read');
  },
};

const kubeletConfiguration: Target = {
  readers: ['policy from-kubelet', 'plan'],
  schema: schemaOf(writtenSchema(KubeletConfiguration)),
  seeds: () => [
    written({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      imageGCHighThresholdPercent: 85,
      imageMinimumGCAge: '2m0s',
      evictionHard: { 'imagefs.available': '15%' },
    }),
    written({ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' }),
  ],
  open: () => (input) => {
    const read = readKubeletFile({ file: 'config.yaml', text: yamlIn(input) });
    return read.valid ? PASSED : REFUSED;
  },
};

const LocalRulesLike = z.strictObject({
  keepPatterns: z.array(z.string()).optional(),
  maxRemovalsPerHour: z.int().nonnegative().nullable().optional(),
  hold: z.boolean().optional(),
});

const localFile: Target = {
  readers: ['node-executor'],
  schema: schemaOf(writtenSchema(LocalRulesLike)),
  seeds: () => [
    written({ keepPatterns: ['registry.example/**', 'a?[b]'], maxRemovalsPerHour: 10, hold: false }),
    written({ hold: true }),
    written({}),
  ],
  open: () => (input) => {
    const rules = parseLocalRules('/etc/fleetgc/node.yaml', yamlIn(input));
    if (rules.kind === 'held') return REFUSED;
    const [document] = asArray(asObject(input).documents);
    const isHeld = isUntouched(input) && document !== undefined && asObject(document).hold === true;
    return isHeld && !rules.hold ? effect('a file that holds everything holds nothing') : PASSED;
  },
};

/** What is thrown with a code is an answer. */
function refusing<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof FleetGcError && error.code !== 'INTERNAL') return null;
    throw error;
  }
}

const rootsFile: Target = {
  readers: ['every process that is given roots'],
  schema: schemaOf(writtenSchema(TrustRoots)),
  seeds: () => [written(rootsOf(newKey())), written(rootsOf(newKey(), newKey()))],
  open: () => {
    const path = placeFor('roots.yaml');
    return (input) => {
      putFile(path, yamlIn(input));
      const roots = refusing(() => readTrustRoots(path));
      if (roots === null) return REFUSED;
      return TrustRoots.safeParse(roots).success ? PASSED : effect('roots are believed that are none');
    };
  },
};

const signedStatement: Target = {
  readers: ['keys publish'],
  schema: schemaOf(
    z.object({
      line: z.strictObject({
        topic: z.literal('gc.keys'),
        key: z.string(),
        headers: z.record(z.string(), z.string()),
        valueBase64: z.base64(),
      }),
      edits: z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(40), z.string()])),
    }),
  ),
  seeds: () => [{ line: JSON.parse(signedRecordText(statement())), edits: [] }],
  open: () => (input) => {
    const { line = null, edits = [] } = asObject(input);
    const record = refusing(() => readSignedRecord(edited(JSON.stringify(line), edits), 'line 1'));
    return record === null ? REFUSED : PASSED;
  },
};

/** A statement on its way. */
function statement() {
  const { topic, key, headers, value } = certified(newKey(), newKey());
  return { topic, key: key ?? '', headers, value };
}

export const SETTINGS: Readonly<Record<string, Target>> = {
  'policy-file': policyFile,
  'kubelet-configuration': kubeletConfiguration,
  'node-yaml': localFile,
  'roots-file': rootsFile,
  'signed-statement': signedStatement,
  'structured-event': structuredEvent,
};
