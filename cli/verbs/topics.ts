import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  accessLines,
  accessValue,
  aclCommands,
  type ReportedRule,
  reportTopics,
  topicObjects,
} from '../../packages/documents/topics.ts';
import {
  type AccessRule,
  accessRules,
  ROLES,
  type Role,
  ruleKey,
} from '../../packages/log/access/access-rules.ts';
import { differencesSince } from '../../packages/log/heard-of.ts';
import type { EventLog } from '../../packages/log/port.ts';
import { requireSame } from '../../packages/log/topic-differences.ts';
import { pause } from '../../packages/process/backoff.ts';
import { FleetGcError, toFleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { Switch, withMeta } from '../../packages/process/options/options.ts';
import { counted } from '../../packages/text/counted.ts';
import type { TopicName } from '../../schemas/events/topics.ts';
import { DurationMs } from '../../schemas/policy/quantity.ts';
import { objectOptions, outputOptions, printObjects, printResult } from '../framework/output.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import {
  type EventLogChoice,
  eventLogOptions,
  forTask,
  readEventLogSettings,
} from '../options/event-log-options.ts';

/** The name of a certificate has commas of its own, so only one before the next principal parts two. */
const SEPARATOR = /,(?=\s*User:)/;

const Principal = z
  .string()
  .regex(/^User:\S/, {
    error: 'must be User:NAME, as the brokers call the login; of a certificate its whole name',
  })
  .refine((principal) => principal !== 'User:*', { error: 'must be one login: User:* is everybody' });

const PrincipalList = z
  .union([z.string(), z.array(z.string())])
  .transform((given) =>
    [given]
      .flat()
      .flatMap((text) => text.split(SEPARATOR))
      .map((text) => text.trim())
      .filter((text) => text !== ''),
  )
  .pipe(z.array(Principal))
  .prefault('');

const principals = (description: string) =>
  withMeta(PrincipalList, { kind: 'list', placeholder: 'User:NAME,…', description });

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Rest>}`
  : Name;

/** Under which names the brokers know who plays which role. */
const principalOptions = {
  nodePrincipal: principals('Logins of nodes (node, node-agent, node-executor).'),
  clusterPrincipal: principals('Logins of agents and executors of clusters.'),
  deciderPrincipal: principals('Logins of decision services (decide, pressure, container-gc, image-gc).'),
  operatorPrincipal: principals(
    'Logins of people who create topics, write policies and pauses, and put dead letters back.',
  ),
  dashboardPrincipal: principals('Logins of dashboards with --allow-actions.'),
  policyControllerPrincipal: principals('Logins of policy controllers of clusters (policy-controller).'),
  archiverPrincipal: principals('Logins of archivers (audit archive).'),
  readerPrincipal: principals('Logins of those who only look (audit, status, nodes, dashboards).'),
  notifierPrincipal: principals('Logins of those who tell people what happens (notify).'),
} as const satisfies Record<`${CamelCase<Role>}Principal`, unknown>;

const PrincipalChoice = z.object(principalOptions);
type PrincipalChoice = z.infer<typeof PrincipalChoice>;

const principalFlags: readonly string[] = ROLES.map((role) => `--${role}-principal`);

const principalsOf = (options: PrincipalChoice): Readonly<Record<Role, readonly string[]>> => ({
  node: options.nodePrincipal,
  cluster: options.clusterPrincipal,
  decider: options.deciderPrincipal,
  operator: options.operatorPrincipal,
  dashboard: options.dashboardPrincipal,
  'policy-controller': options.policyControllerPrincipal,
  archiver: options.archiverPrincipal,
  reader: options.readerPrincipal,
  notifier: options.notifierPrincipal,
});

/** The embedded log has none, whatever the options of Kafka say. */
const prefixOf = ({ log, kafkaPrefix = '' }: EventLogChoice): string =>
  log === 'embedded' ? '' : kafkaPrefix;

const RETRY_MS = 1_000;

export const createVerb = defineVerb({
  help: [
    'On Kafka, run it once before anything else. It never changes an existing topic: if one differs from what this release needs, it says so, and the exit code is 1.',
  ],
  examples: [
    'fleetgc topics create --kafka-brokers kafka-1:9092,kafka-2:9092',
    'fleetgc topics create --kafka-brokers kafka:9092 --wait 60s',
    'fleetgc topics create --log embedded --log-path ./fleetgc.db',
  ],
  options: z.object({
    wait: withMeta(DurationMs.prefault('0s'), {
      placeholder: 'DURATION',
      description: 'How long to wait for the event log when it does not answer.',
    }),
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ wait, output, ...options }, context) => {
    const deadlineMs = performance.now() + wait;
    await using log = await openTaskEventLog({ options, context, create: true });
    const created = await createInTime(log, deadlineMs, context);
    const differences = await differencesSince(log, { created });
    const reports = reportTopics(created, differences, prefixOf(options));
    await printObjects(context, output, topicObjects(reports));
    requireSame(differences);
  },
});

async function createInTime(
  log: EventLog,
  deadlineMs: number,
  { progress, signal }: VerbContext,
): Promise<readonly TopicName[]> {
  for (;;) {
    try {
      return await log.createTopics();
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (!error.retry || signal.aborted || performance.now() >= deadlineMs) throw error;
      progress.report(() => `${error.message} Waiting for it`);
      await pause(RETRY_MS, signal);
    }
  }
}

export const checkVerb = defineVerb({
  help: ['Changes nothing. The exit code is 1 when a topic is missing or differs.'],
  examples: ['fleetgc topics check --kafka-brokers kafka:9092'],
  options: z.object({ ...objectOptions, ...eventLogOptions('kafka') }),
  run: async ({ output, ...options }, context) => {
    await using log = await openTaskEventLog({ options, context });
    const differences = await log.checkTopics();
    const reports = reportTopics([], differences, prefixOf(options));
    await printObjects(context, output, topicObjects(reports));
    requireSame(differences);
  },
});

export const aclsVerb = defineVerb({
  help: [
    'With these rules alone each role can do its work, on brokers that deny what no rule allows. Name the logins that play each role, as the brokers call them; a role without a login gets no rule.',
    'By default it asks nobody, and prints the commands of Kafka’s own tool: put the properties of an administrator’s login into admin.properties. With --apply it adds the rules that the brokers have not. It changes and deletes none, so a login that had more rights keeps them; it says so.',
    'To add rules takes Describe and Alter on the cluster: use the login of an administrator of Kafka, which no role of FleetGC needs.',
  ],
  examples: [
    'fleetgc topics acls --node-principal User:nodes --decider-principal User:deciders --operator-principal User:operators',
    "fleetgc topics acls --node-principal 'User:CN=nodes,O=example' -o json",
    'fleetgc topics acls --apply --dry-run --reader-principal User:dashboard --kafka-brokers kafka:9092',
  ],
  options: z.object({
    print: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Print the rules, and ask nobody; so it is without --apply.',
    }),
    apply: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Add the rules that the brokers have not.',
    }),
    dryRun: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'With --apply: say which rules are missing, and add none.',
    }),
    ...principalOptions,
    ...outputOptions,
    ...eventLogOptions('kafka'),
  }),
  checkFlags: ({ print, apply, dryRun }) => {
    if (print && apply) throw new FleetGcError('USAGE', 'give --print or --apply, not both');
    if (dryRun && !apply) throw new FleetGcError('USAGE', '--dry-run is for --apply');
  },
  run: async ({ print: _, apply, dryRun, output, ...options }, context) => {
    const wanted = accessRules(principalsOf(options), options.kafkaPrefix ?? '');
    if (wanted.length === 0)
      throw new FleetGcError('USAGE', `name a login of at least one role: ${principalFlags.join(', ')}`);
    if (options.log === 'embedded') throw noRules();
    if (!apply) {
      const rules = reported(wanted, () => 'wanted');
      const lines = aclCommands(wanted, options.kafkaBrokers ?? []);
      return await printResult(context, output, { value: accessValue(rules), lines });
    }
    const rules = await applied(wanted, { options, dryRun, context });
    await printResult(context, output, { value: accessValue(rules), lines: accessLines(rules) });
    if (dryRun) context.logger.info('Dry run: nothing was changed.');
  },
});

const noRules = (): FleetGcError =>
  new FleetGcError(
    'USAGE',
    'the embedded log has no access rules: the rights of its file say who may read and write it',
  );

interface Applying {
  readonly options: EventLogChoice;
  readonly dryRun: boolean;
  readonly context: VerbContext;
}

async function applied(
  wanted: readonly AccessRule[],
  { options, dryRun, context }: Applying,
): Promise<readonly ReportedRule[]> {
  const { grantAccess } = await import('../../packages/log/access/own-rights.ts');
  const settings = forTask(readEventLogSettings(options, { clientId: 'fleetgc-cli', readTextFile }));
  if (settings.kind === 'embedded') throw noRules();
  const { added, others } = await grantAccess(
    {
      options: settings,
      work: dryRun ? 'look' : 'add',
      context: {
        logger: context.logger.child({}, { level: 'error' }),
        now: Date.now,
        random: Math.random,
        newId: randomUUID,
      },
    },
    wanted,
  );
  if (others > 0)
    context.logger.warn(
      `These principals have ${counted(others, 'other rule')}, which this fleet does not need and FleetGC leaves as it is: kafka-acls.sh --list --principal … shows them.`,
    );
  const isNew = new Set(added.map(ruleKey));
  return reported(wanted, (rule) => {
    if (!isNew.has(ruleKey(rule))) return 'there already';
    return dryRun ? 'missing' : 'added';
  });
}

const reported = (
  rules: readonly AccessRule[],
  stateOf: (rule: AccessRule) => ReportedRule['state'],
): readonly ReportedRule[] => rules.map((rule) => ({ ...rule, state: stateOf(rule) }));
