import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { makeDirectories } from '../../packages/files/make-directories.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import {
  FilePath,
  ListenAddress,
  Switch,
  Text,
  TextList,
  withMeta,
} from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { readPeople } from '../../services/dashboard/access/sessions.ts';
import type { ActingPort } from '../../services/dashboard/actions/desk.ts';
import { runDashboard } from '../../services/dashboard/main.ts';
import { openProjectedLog } from '../framework/audit-log.ts';
import { openPolicyWriter } from '../framework/policy-writer.ts';
import { openTaskEventLog, operatorPublication } from '../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { WrittenRecords } from '../framework/written-records.ts';
import { auditLogOptions, threadSource } from '../options/archive-options.ts';
import { probeOptions } from '../options/common-options.ts';
import { LogSize } from '../options/event-log-options.ts';
import { LongDuration } from '../options/time-options.ts';
import {
  readDashboardTrust,
  readingFactsOptions,
  readReadingFacts,
  readReadingRoots,
  signingOptions,
} from '../options/trust-options.ts';

/** The options of a process from which people act. */
const actingOptions = {
  allowActions: withMeta(Switch.prefault('false'), {
    description:
      'Let operators pause, resume, approve, and put dead letters back from the page. It needs a sign-in, and with --trust required a key of role dashboard.',
  }),
  ...signingOptions,
  trust: withMeta(signingOptions.trust, {
    description:
      'Whether what people do from the page is signed, since it counts only so; it has no effect without --allow-actions. Needed with --allow-actions on Kafka; off without it.',
  }),
};

const Url = withMeta(
  z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://fleetgc.example' })
    .transform((text) => new URL(text)),
  { placeholder: 'URL' },
);

const options = z.object({
  httpAddress: withMeta(ListenAddress.prefault('127.0.0.1:9660'), {
    description: 'Where to serve the page and its API.',
  }),
  ...probeOptions,
  projection: withMeta(FilePath.optional(), {
    description:
      'File for what was read of the event log. You can delete it at any time: it is recreated. Each replica needs a file of its own. Default: fleetgc/dashboard.db in $XDG_STATE_HOME, or in ~/.local/state.',
  }),
  projectionMaxSize: withMeta(LogSize.prefault('2Gi'), {
    placeholder: 'QUANTITY',
    description: 'Size that file may reach; the oldest goes first.',
  }),
  history: withMeta(LongDuration.prefault('31d'), {
    description: 'How far back to read, as far as the event log has it.',
  }),
  tokenFile: withMeta(FilePath.optional(), {
    description:
      'Who may sign in: a line ROLE NAME TOKEN each; the role is viewer or operator. Other users must not be able to open it.',
  }),
  trustedProxy: withMeta(TextList.prefault(''), {
    placeholder: 'ADDRESS,…',
    description: 'Proxies that say who somebody is: addresses, or networks such as 10.1.0.0/16.',
  }),
  userHeader: withMeta(Text.prefault('x-forwarded-user'), {
    placeholder: 'NAME',
    description: 'The header in which they say it.',
  }),
  operators: withMeta(TextList.prefault(''), {
    placeholder: 'NAME,…',
    description: 'Who of those is operator; the others are viewers.',
  }),
  publicUrl: withMeta(Url.optional(), {
    description: 'The address by which people find the page, when it is not where it is served.',
  }),
  ...actingOptions,
  ...readingFactsOptions,
  ...auditLogOptions,
});
type DashboardOptions = z.infer<typeof options>;

export const dashboardVerb = defineVerb({
  help: [
    'Serves a page for the browser, and the JSON API behind it, over what it reads of the event log: every node at once, one node with its disks and what was removed there, what is decided and removed now, images by the space that they take, the life of one image, container or pod, policies and what a copy of one would have done, Kubernetes clusters, dead letters, what people did, the weekly report, and a search. It follows the event log into a file of its own, the newest first and the past behind it. It writes nothing to the event log unless --allow-actions is given. Any number of replicas can run, each with a file of its own.',
    'Without --token-file and --trusted-proxy nobody has to sign in, and it serves its own machine alone. Its numbers are those of fleetgc nodes, status, plan, held, audit report, audit explain and audit simulate.',
  ],
  examples: [
    'fleetgc dashboard --log embedded --log-path ./fleetgc.db',
    'fleetgc dashboard --kafka-brokers kafka:9092',
    'fleetgc dashboard --kafka-brokers kafka:9092 --probe-address 127.0.0.1:9662',
    'fleetgc dashboard --log archive --archive /srv/fleetgc-archive',
    'fleetgc dashboard --kafka-brokers kafka:9092 --http-address 0.0.0.0:9660 --token-file tokens --public-url https://gc.example',
    'fleetgc dashboard --kafka-brokers kafka:9092 --token-file tokens --allow-actions --trust required --trust-roots roots.yaml --signing-key-file dashboard.pem',
  ],
  options,
  run: async (given, context) => {
    requireEffect(given);
    const { httpAddress, probeAddress, projectionMaxSize, history, ...rest } = given;
    const access = {
      address: httpAddress,
      tokens: given.tokenFile === undefined ? [] : readPeople(given.tokenFile),
      trustedProxies: given.trustedProxy,
      userHeader: given.userHeader.toLowerCase(),
      operators: given.operators,
      publicUrl: given.publicUrl ?? null,
    };
    const acting = await actingPort(given, context);
    const path = given.projection ?? projectionPath(context.environment);
    await using from = await openProjectedLog(rest, context);
    await runDashboard(
      {
        access,
        probeAddress,
        projection: {
          from,
          roots: readReadingRoots(given),
          facts: readReadingFacts(given),
          path,
          historyMs: history,
          mostBytes: Number(projectionMaxSize),
          logger: context.logger,
          sources: systemSources,
        },
        acting,
        pageDirectory: null,
        simulationSource: threadSource(rest),
        version: PRODUCT_VERSION,
        logger: context.logger,
      },
      context.signal,
    );
  },
});

/** Where programs of a user keep what outlasts them (XDG Base Directory Specification). Throws `CONFIG_INVALID` where there is no such place. */
function projectionPath({ XDG_STATE_HOME: named = '', HOME: home = '' }: VerbContext['environment']): string {
  // A relative path counts as none.
  const state = isAbsolute(named) ? named : isAbsolute(home) ? join(home, '.local/state') : null;
  if (state === null) throw configError([NO_PLACE]);
  const directory = join(state, 'fleetgc');
  const problem = makeDirectories(directory);
  if (problem !== null)
    throw configError([`${directory} cannot be created: ${problem}. Give --projection FILE`]);
  return join(directory, 'dashboard.db');
}

const NO_PLACE =
  'the environment has neither XDG_STATE_HOME nor HOME, so there is no default for the file: give --projection FILE';

/** What is given for a proxy without one would let nobody in, and look as if it did. Throws `CONFIG_INVALID`. */
function requireEffect({ trustedProxy, operators }: DashboardOptions): void {
  if (operators.length > 0 && trustedProxy.length === 0) throw configError([OPERATORS_WITHOUT_PROXY]);
}

const OPERATORS_WITHOUT_PROXY =
  '--operators has no effect without --trusted-proxy: it names people of a proxy. In --token-file each line says the role';

/** With what people act from the page. Throws `CONFIG_INVALID`, and `KEY_UNUSABLE` where nobody would believe its key. */
async function actingPort(given: DashboardOptions, context: VerbContext): Promise<ActingPort | null> {
  const { log, allowActions, trust, signingKeyFile, signingKeyCommand } = given;
  if (!allowActions) {
    if (trust !== undefined && trust !== 'off') throw configError([TRUST_WITHOUT_ACTIONS]);
    if ((signingKeyFile ?? signingKeyCommand) !== undefined) throw configError([KEY_WITHOUT_ACTIONS]);
    return null;
  }
  if (log === 'archive') throw configError([NOTHING_TO_WRITE_TO]);
  const choice = { ...given, log };
  const own = await readDashboardTrust(choice, context.signal);
  const port: ActingPort = {
    roots: own.kind === 'required' ? own.roots : null,
    openLog: (signal) =>
      openTaskEventLog({ options: choice, context: { ...context, signal, written: new WrittenRecords() } }),
    openWriter: async (acting, signal) =>
      await openPolicyWriter(
        acting,
        await readDashboardTrust(choice, signal),
        { signal, logger: context.logger },
        { publication: operatorPublication('dashboard') },
      ),
  };
  await requireKey(port, context);
  return port;
}

/** What passes is told; a key that nobody believes ends the process before anybody relies on it. */
async function requireKey(port: ActingPort, { signal, logger }: VerbContext): Promise<void> {
  try {
    await using log = await port.openLog(signal);
    await port.openWriter(log, signal);
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    if (!error.retry || error.code === 'INTERRUPTED') throw error;
    logger.warn({ problem: error.message }, 'whether people can act is not known yet');
  }
}

const TRUST_WITHOUT_ACTIONS =
  '--trust has no effect without --allow-actions: leave it out. With --trust-roots alone the page says what no key signed that may do so';
const KEY_WITHOUT_ACTIONS =
  '--signing-key-file and --signing-key-command have no effect without --allow-actions: leave them out, so that this process has no key';
const NOTHING_TO_WRITE_TO = '--allow-actions has no effect on an archive, which nobody writes to';
