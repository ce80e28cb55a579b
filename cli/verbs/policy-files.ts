import { z } from 'zod';
import type { AnyWrittenPolicy } from '../../packages/policy/file/read-policy-file.ts';
import { yamlOfPolicy } from '../../packages/policy/file/yaml-document.ts';
import {
  type KubeletFile,
  policyFromKubelet,
  readKubeletFile,
  reportOf,
  unknownFields,
} from '../../packages/policy/from-kubelet/from-kubelet.ts';
import { withMeta } from '../../packages/process/options/options.ts';
import { printable } from '../../packages/text/printable.ts';
import { keyOfPolicyNamed } from '../../schemas/policy/policy.ts';
import { PolicyName } from '../../schemas/policy/policy-file.ts';
import { parseDurationMs } from '../../schemas/policy/quantity.ts';
import { MAX_INT32 } from '../../schemas/policy/written-values.ts';
import { objectOptions, printObjects } from '../framework/output.ts';
import {
  loadAnyPolicyFiles,
  readNamedFile,
  reportedProblems,
  requireValid,
} from '../framework/policy-files.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { policyFileOptions } from '../options/policy-options.ts';

const keepsImages = (written: AnyWrittenPolicy): boolean => {
  if (written.subject !== 'node') return false;
  const { patterns, digests, labels } = written.policy.keep;
  return patterns.length + digests.length + Object.keys(labels).length > 0;
};

const KEEPS_FROM_FLEETGC =
  'keep.images, keep.digests and keep.labels keep images from FleetGC alone: the kubelet on the same node still removes them by its own thresholds and ages.';

export const validateVerb = defineVerb({
  help: [
    'Reports every problem in every file at once, with line and column. If there is one, the exit code is 2.',
  ],
  examples: ['fleetgc policy validate policies/*.yaml', 'fleetgc policy validate policy.yaml --output json'],
  options: z.object({ ...policyFileOptions, ...objectOptions }),
  run: async ({ files: paths, output }, { logger, write }) => {
    const { writtenPolicyLines } = await import('../../packages/documents/policies.ts');
    const files = loadAnyPolicyFiles(paths);
    const isDocument = output === 'json' || output === 'yaml';
    if (isDocument) await printObjects({ write }, output, { value: files, lines: [], names: [] });
    const written = requireValid(files, logger, 'nothing in these files can be applied');
    if (isDocument) return;
    const names = written.map(({ subject, policy }) => keyOfPolicyNamed(subject, policy.name));
    await printObjects({ write }, output, { value: files, lines: writtenPolicyLines(written), names });
    if (written.some(keepsImages)) logger.info(KEEPS_FROM_FLEETGC);
  },
});

const commandLineOnly = true;

const Limit = z
  .string()
  .regex(/^-?[0-9]{1,10}$/, { error: 'must be a whole number; a negative one means no limit' })
  .transform(Number)
  .refine((limit) => limit >= -MAX_INT32 - 1 && limit <= MAX_INT32, { error: 'does not fit 32 bits' });

const NotNegativeDuration = z.string().refine((text) => (parseDurationMs(text) ?? -1) >= 0, {
  error: 'must be a duration of 0s or more, such as 90s or 1m30s',
});

/** A setting that a kubelet has as a flag alone. */
const kubeletFlag = <Value extends z.ZodType>(value: Value, placeholder: string) =>
  withMeta(value.optional(), {
    commandLineOnly,
    placeholder,
    description: 'What the kubelet is started with, if it has this flag.',
  });

export const fromKubeletVerb = defineVerb({
  help: [
    'Prints a policy that does what the kubelet would do, and says which settings it used and which it ignored. It reads and checks the file as a kubelet does, and reports all wrong values at once; then the exit code is 2. Kubelet flags that have no setting in the file are options here.',
  ],
  examples: [
    'fleetgc policy from-kubelet /var/lib/kubelet/config.yaml > policy.yaml',
    'fleetgc policy from-kubelet config.yaml --name workers --maximum-dead-containers 200',
  ],
  options: z.object({
    file: withMeta(z.string(), {
      positional: true,
      placeholder: 'FILE',
      description: 'Configuration file of a kubelet, YAML or JSON; - reads standard input.',
    }),
    name: withMeta(PolicyName.prefault('kubelet'), {
      commandLineOnly,
      placeholder: 'NAME',
      description: 'Name of the policy.',
    }),
    mode: withMeta(z.enum(['dry-run', 'enforce']).prefault('dry-run'), {
      commandLineOnly,
      description: 'Mode of the policy.',
    }),
    profile: withMeta(z.enum(['fleetgc', 'kubelet']).prefault('kubelet'), {
      commandLineOnly,
      description: 'Profile of the policy.',
    }),
    minimumContainerTtlDuration: kubeletFlag(NotNegativeDuration, 'DURATION'),
    maximumDeadContainersPerContainer: kubeletFlag(Limit, 'NUMBER'),
    maximumDeadContainers: kubeletFlag(Limit, 'NUMBER'),
  }),
  run: async ({ file, minimumContainerTtlDuration, ...choices }, context) => {
    const configuration = requireConfiguration(file, context);
    const policy = policyFromKubelet(configuration, {
      ...choices,
      minimumContainerTTLDuration: minimumContainerTtlDuration,
    });
    const { reported, warnings } = reportOf(configuration, policy);
    await context.write(printable(yamlOfPolicy(policy)));
    for (const line of reported) context.logger.info(line);
    for (const warning of warnings) context.logger.warn(warning);
  },
});

function requireConfiguration(path: string, { logger }: VerbContext): KubeletFile {
  const reading = readKubeletFile(readNamedFile(path));
  if (reading.valid) return reading.configuration;
  for (const warning of unknownFields(reading.fields)) logger.warn(warning);
  throw reportedProblems(reading.problems, logger, 'no policy was made');
}
