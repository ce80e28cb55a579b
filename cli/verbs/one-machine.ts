import { join } from 'node:path';
import { z } from 'zod';
import { policySet } from '../../packages/decision/policy-set.ts';
import { planTable } from '../../packages/documents/plan.ts';
import { planFor } from '../../packages/plan/plan.ts';
import { type Asked, defaultsOf, type RequestDefaults, readRequest } from '../../packages/plan/request.ts';
import { toPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { readPoliciesBy } from '../../packages/policy/stored-policies.ts';
import { warnOfUnreadable } from '../../packages/policy/unsigned-records.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { fileText, readAllBytes } from '../../packages/process/options/named-file.ts';
import { FilePath, flagOf, offFlagOf, Switch, withMeta } from '../../packages/process/options/options.ts';
import type { OptionSources } from '../../packages/process/options/read-options.ts';
import { Policy, type PolicySet } from '../../schemas/policy/policy.ts';
import { type Plan, PlanTrigger } from '../../schemas/reports/plan.ts';
import {
  containerdOptions,
  kubeletOptions,
  nodeOptions,
  toExecutorOptions,
  wholeNodeOptions,
} from '../../services/node/node-options.ts';
import { inventoryOfThisMachine } from '../../services/node/plan/live-inventory.ts';
import { NODE_SHUTDOWN_LIMIT_MS } from '../../services/node/run-node.ts';
import { openThisNode } from '../../services/node/this-machine.ts';
import { openServiceOn, quieter, tracingOf } from '../framework/open-service.ts';
import { partedOutputOptions, printResult } from '../framework/output.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { PolicyPaths } from '../options/policy-options.ts';
import { readingTrustOptions, readReadingRoots } from '../options/trust-options.ts';
import { answerLines } from '../run/answer-lines.ts';
import { runPipeline } from '../run/pipeline.ts';
import { policiesOf } from '../run/policies.ts';

const { logMaxSize } = eventLogOptions('embedded');

/** Beside the rest of what this node keeps, so that a directory of one's own holds all of it. */
const logPath = withMeta(FilePath.optional(), {
  description: 'File of the embedded log; event-log.db in the state directory when not given.',
});

export const runVerb = defineVerb({
  help: [
    'Agent, decision services and executor in one process, with the event log in a file. Nothing is removed unless a policy given with --policy says "mode: enforce".',
  ],
  examples: [
    'fleetgc run',
    'fleetgc run --policy policy.yaml',
    'fleetgc run --policy policy.yaml --runtime-endpoint unix:///run/k3s/containerd/containerd.sock --json',
  ],
  options: z.object({
    policy: withMeta(PolicyPaths.optional(), {
      kind: 'list',
      placeholder: 'FILE',
      description:
        "Policies that hold, and no others; may be repeated. Without any: the kubelet's defaults in dry-run.",
    }),
    json: withMeta(Switch.prefault('false'), {
      description: 'Print decisions and results themselves, one JSON document a line.',
    }),
    ...wholeNodeOptions,
    ...httpOptions(9647),
    ...tracingOptions,
    logPath,
    logMaxSize,
  }),
  shutdownLimitMs: NODE_SHUTDOWN_LIMIT_MS,
  run: async ({ policy: policyFiles = [], json, httpAddress, ...options }, context) => {
    const { logger, print, signal } = context;
    const path = options.logPath ?? join(options.stateDirectory, 'event-log.db');
    const written = policiesOf(policyFiles, { logger, consequence: 'nothing was started' });
    using node = openThisNode({ ...options, log: 'embedded' }, ['agent', 'executor'], logger);
    await using process = await openServiceOn({
      service: 'run',
      eventLog: {
        kind: 'embedded',
        path,
        maxBytes: Number(options.logMaxSize),
        keepsSpace: true,
      },
      trust: { kind: 'off' },
      httpAddress,
      tracing: tracingOf(options, context),
      logger: quieter(logger),
    });
    const executor = toExecutorOptions(options);
    await runPipeline({ process, node, executor, written, policyFiles, logPath: path, json, print }, signal);
  },
});

const commandLineOnly = true;
/** Answers that wait for a reader which is slower, in characters. */
const MOST_WAITING = 1024 * 1024;
const { cluster, nodeName, nodeLabels, nodeLabelsFile, runtimeEndpoint, podLogsDir, containerLogsDir } =
  nodeOptions;

/** How to look at this machine. */
const lookOptions = {
  cluster,
  nodeName,
  nodeLabels,
  nodeLabelsFile,
  runtimeEndpoint,
  podLogsDir,
  containerLogsDir,
  stateDirectory: withMeta(FilePath.optional(), {
    placeholder: 'DIRECTORY',
    description: "State directory of this node's agent, read for the age of images; nothing is written.",
  }),
  assumeOld: withMeta(Switch.prefault('false'), {
    commandLineOnly,
    description:
      'Before an agent has run here nobody knows how old images are, and so nothing goes: take them all for old enough.',
  }),
  ...containerdOptions,
  ...kubeletOptions,
};

const PlanOptions = z.object({
  inventory: withMeta(FilePath.optional(), {
    commandLineOnly,
    placeholder: 'FILE|-',
    description:
      "An inventory event in place of this machine's runtime; - reads standard input. With -o ndjson one a line.",
  }),
  policy: withMeta(PolicyPaths.optional(), {
    kind: 'list',
    placeholder: 'FILE',
    description:
      "Policies, of which the one that holds for the node is taken; may be repeated. Without any: the kubelet's defaults in dry-run.",
  }),
  fromLog: withMeta(Switch.prefault('false'), {
    commandLineOnly,
    description:
      'Take the policies and pauses of the event log in place of --policy: while a pause holds for the node nothing would be removed.',
  }),
  profile: withMeta(Policy.shape.profile.optional(), {
    commandLineOnly,
    description: 'Reads every policy as if it said this profile.',
  }),
  trigger: withMeta(PlanTrigger.prefault('all'), {
    commandLineOnly,
    description:
      'What to plan for: all, which is the periodic pass and each eviction signal with a threshold in the policy; or one of periodic, forced, and the eviction signals.',
  }),
  ...partedOutputOptions('an inventory'),
  ...readingTrustOptions,
  ...lookOptions,
  ...eventLogOptions('kafka'),
});
type PlanOptions = z.infer<typeof PlanOptions>;

export const planVerb = defineVerb({
  help: [
    'Decides as the services do, from one look at this machine or from a given inventory, and shows the plan: what can be removed, what is kept, by which rule, and how much it would free. It plans for the periodic pass and for each eviction signal of the policy together, and says what each does alone. Pauses hold only on the event log: --from-log reads policies and pauses there. The plan ignores the limits of a single command and assumes that every removal succeeds. With -o ndjson each line of input gets one line of output (docs/reference/plan.md has the format).',
    'Exit codes: 0 a plan was made, 1 something could not be planned (the runtime does not answer, an inventory is not complete, a line is wrong), 2 wrong options or an invalid policy.',
  ],
  examples: [
    'fleetgc plan',
    'fleetgc plan --policy policy.yaml --state-directory /var/lib/fleetgc',
    'fleetgc plan --from-log --kafka-brokers kafka:9092',
    'fleetgc plan --policy policy.yaml --trigger eviction:imagefs.available --profile kubelet',
    'fleetgc plan --inventory inventory.json --policy policy.yaml -o json',
    'fleetgc plan -o ndjson < inventories.ndjson > plans.ndjson',
  ],
  options: PlanOptions,
  checkFlags: ({ inventory, output }, flags) => {
    if (inventory !== undefined) refuseLooking('--inventory', flags);
    else if (output === 'ndjson') refuseLooking('-o ndjson', flags);
  },
  run: async (options, context) => {
    const asked = await askedIn(options, context);
    if (options.output === 'ndjson')
      return await answerLines(options.inventory ?? '-', asked, { ...context, mostWaiting: MOST_WAITING });
    const made = await madePlan(options, defaultsOf(asked), context);
    const lines = planTable(made);
    await printResult(context, options.output, { value: made, lines });
    if (made.status === 'not-planned') throw incomplete(made);
  },
});

/** Where inventories are given nobody looks, and a plan of another machine than was meant misleads. */
function refuseLooking(because: string, flags: OptionSources['flags']): void {
  const given = Object.keys(lookOptions).filter((key) => flags[key] !== undefined);
  if (given.length === 0) return;
  const names = given.map((key) => (flags[key] === false ? offFlagOf(key) : flagOf(key))).join(', ');
  throw new FleetGcError(
    'USAGE',
    `with ${because} this machine is not looked at, so leave out what says how: ${names}`,
  );
}

/** Throws `USAGE` or `POLICY_INVALID`, and where policies are read from the event log as that does. */
async function askedIn(options: PlanOptions, context: VerbContext): Promise<Asked> {
  const { inventory, policy = [], fromLog, profile, trigger } = options;
  if (inventory === '-' && policy.includes('-'))
    throw new FleetGcError('USAGE', '--inventory and --policy cannot both read standard input');
  const override = profile === undefined ? {} : { profile };
  if (fromLog) {
    if (policy.length > 0 || profile !== undefined)
      throw new FleetGcError(
        'USAGE',
        'with --from-log the event log says the policies: leave --policy and --profile out',
      );
    return { policies: await storedPolicies(options, context), trigger, override };
  }
  const { logger } = context;
  const written = policiesOf(policy, { logger, consequence: 'no plan was made', override });
  return { policies: policySet('node', written.map(toPolicyRecord), []), trigger, override };
}

async function storedPolicies(options: PlanOptions, context: VerbContext): Promise<PolicySet> {
  await using log = await openTaskEventLog({ options, context });
  const stored = await readPoliciesBy(readReadingRoots(options), log, context.signal);
  warnOfUnreadable(stored, context.logger);
  return stored.sets.node;
}

async function madePlan(
  options: PlanOptions,
  defaults: RequestDefaults,
  { signal, logger }: VerbContext,
): Promise<Plan> {
  const { inventory } = options;
  if (inventory === undefined)
    return planFor({ ...defaults, ...(await inventoryOfThisMachine(options, logger)) });
  const bytes = await readAllBytes(inventory, signal);
  const read = readRequest(bytes, defaults);
  if (read.ok) return planFor(read.request);
  const hint = bytes.includes('\n{') ? '; many inventories, one a line, are for -o ndjson' : '';
  throw new FleetGcError('NOT_PLANNED', `${fileText(inventory)}: ${read.causes.join('; ')}${hint}`);
}

/** What keeps anybody from saying more. */
const incomplete = ({ notBelieved }: Plan): FleetGcError =>
  new FleetGcError(
    'NOT_PLANNED',
    `the inventory is not complete, so nothing would go: ${notBelieved.map(({ message }) => message).join('; ')}`,
  );
