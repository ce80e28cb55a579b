import type { Logger } from 'pino';
import { z } from 'zod';
import type { StateFiles } from '../../packages/machine/state-directory.ts';
import type { Command } from '../../packages/process/command-output.ts';
import { FleetGcError, toFleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { FilePath, flagOf, Switch, Text, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { onHangup } from '../../packages/process/run.ts';
import { readPublicKey } from '../../packages/records/trust/key-pair.ts';
import { type PrivateKeySource, readPrivateKey } from '../../packages/records/trust/private-key.ts';
import type { FactsTrust, TrustChoice } from '../../packages/records/trust/process-trust.ts';
import type { Signing } from '../../packages/records/trust/renewed-key.ts';
import { readTrustRoots } from '../../packages/records/trust/roots-file.ts';
import {
  SEEN_GENERATIONS_FILE,
  SeenFile,
  SeenGenerations,
} from '../../packages/records/trust/seen-generations.ts';
import { signsFactsAlone } from '../../packages/records/trust/trust.ts';
import { nodeKey, SUBJECTS } from '../../schemas/events/identity.ts';
import { PublicKeyText } from '../../schemas/keys/key-statement.ts';
import { TrustRoots } from '../../schemas/keys/trust-roots.ts';

/** Blanks divide words, and quotes keep them together. Nothing else has a meaning: no variable, no backslash, no pattern. */
const WORD = /\s*((?:[^\s"']|"[^"]*"|'[^']*')+)/y;
const QUOTED = /"([^"]*)"|'([^']*)'/g;

function wordsOf(text: string): readonly string[] | null {
  const words: string[] = [];
  const trimmed = text.trim();
  for (let at = 0; at < trimmed.length; ) {
    WORD.lastIndex = at;
    const [whole, word] = WORD.exec(trimmed) ?? [];
    if (whole === undefined || word === undefined) return null;
    words.push(word.replaceAll(QUOTED, (_quoted, double = '', single = '') => double + single));
    at += whole.length;
  }
  return words;
}

/** One text, or in the config file a list of words. */
const CommandWords = withMeta(
  z.union([z.string(), z.array(z.string())]).transform((given, context): Command => {
    const [program = '', ...words] = (typeof given === 'string' ? wordsOf(given) : given) ?? [];
    if (program !== '') return [program, ...words];
    // Without the value, which may hold a password.
    context.addIssue({ code: 'custom', message: UNREADABLE, input: undefined });
    return z.NEVER;
  }),
  { placeholder: 'COMMAND' },
);

const UNREADABLE = 'must be a program and its arguments, with each quote closed';

const fileOption = (what: string, commandLineOnly: boolean) =>
  withMeta(FilePath.optional(), {
    commandLineOnly,
    description: `${what}: a file in PKCS #8 PEM that only its user and group can read.`,
  });

const commandOption = (what: string, commandLineOnly: boolean) =>
  withMeta(CommandWords.optional(), {
    commandLineOnly,
    description: `${what}: a command that writes it to stdout, in place of the file. Blanks divide its words, quotes keep them together; no shell reads it.`,
  });

const SIGNING = 'Private key that signs what is sent';
export const signingKeyOptions = {
  signingKeyFile: fileOption(SIGNING, false),
  signingKeyCommand: commandOption(SIGNING, false),
};

const ROOT = "The root's private key";
export const rootKeyOptions = {
  rootKeyFile: fileOption(ROOT, true),
  rootKeyCommand: commandOption(ROOT, true),
};

const CHECKED = 'A private key that is to sign something; it is checked against its certificate';
export const checkedKeyOptions = {
  keyFile: fileOption(CHECKED, true),
  keyCommand: commandOption(CHECKED, true),
};

/** `null` where neither is given. Throws `CONFIG_INVALID` where both are; `key` is that of the option that names a file. */
export function privateKeySource(
  file: string | undefined,
  command: Command | undefined,
  key: 'signingKeyFile' | 'rootKeyFile' | 'keyFile',
): PrivateKeySource | null {
  if (file !== undefined && command !== undefined)
    throw configError([`${flagOf(key)} and ${flagOf(key.replace('File', 'Command'))}: give one of them`]);
  if (command !== undefined) return { kind: 'command', command };
  return file === undefined ? null : { kind: 'file', path: file };
}

/** For what acts on messages: whose messages count. */
export const trustOptions = {
  trust: withMeta(z.enum(['required', 'warn', 'off']).optional(), {
    description:
      'Whether orders and policies count only with the signature of a key that a root vouches for; warn tells of those that would not. Needed on Kafka; off without it.',
  }),
  trustRoots: withMeta(FilePath.optional(), {
    description: 'File of the roots, for --trust required or warn; "fleetgc keys roots" writes it.',
  }),
};

/** For what only shows what lies on the log. */
export const readingTrustOptions = {
  trustRoots: withMeta(FilePath.optional(), {
    description:
      'File of the roots. With it, what no key signed that may do so, and what was put back, is shown as not counting.',
  }),
};

/** `null` where signatures are not looked at. Throws `CONFIG_INVALID`. */
export const readReadingRoots = ({
  trustRoots,
}: {
  readonly trustRoots?: string | undefined;
}): TrustRoots | null => (trustRoots === undefined ? null : readTrustRoots(trustRoots));

/** For what also signs: orders, policies, or the facts of a node. */
export const signingOptions = { ...trustOptions, ...signingKeyOptions };

/** For verbs that write policies, pauses, approvals and deletions. */
export const writingOptions = {
  ...signingOptions,
  allowUnsigned: withMeta(Switch.prefault('false'), {
    commandLineOnly: true,
    description:
      'Write without a signature although gc.policies holds signed records: nodes and services with --trust required then remove nothing until the record is signed.',
  }),
};

const factsOption = (reported: string) => ({
  trustFacts: withMeta(z.enum(['required', 'warn', 'off']).prefault('off'), {
    description: `Whether ${reported}; warn tells of what would not.`,
  }),
});

/** For what decides by the facts of nodes and clusters. */
export const deciderTrustOptions = {
  ...signingOptions,
  ...factsOption(
    'what nodes and clusters report counts only with the signature of a key of role node or cluster',
  ),
};

/** For what tells of what lies on the log, and signs nothing. */
export const onlookerTrustOptions = {
  ...trustOptions,
  ...factsOption(
    'what nodes and clusters report counts only with the signature of a key of role node or cluster',
  ),
};

/** For what reads its own facts again. */
export const clusterTrustOptions = {
  ...signingOptions,
  ...factsOption(
    'what was reported about this cluster before counts only with the signature of a key of role cluster',
  ),
};

const SigningOptions = z.object(signingOptions);
interface Given extends z.infer<typeof SigningOptions> {
  readonly log: 'kafka' | 'embedded';
}
type GivenToNobodyWhoSigns = Omit<Given, keyof typeof signingKeyOptions>;

/** Of who signs nothing. Throws `CONFIG_INVALID`. */
export const readTrust = (given: GivenToNobodyWhoSigns, seen: SeenGenerations): TrustChoice =>
  trustChoice(given, { signing: null, facts: 'off', seen, learnsFrom: null });

/** Who keeps no file learns from the log what was seen before it began. */
const learning = (): Pick<Trusting, 'seen' | 'learnsFrom'> => ({
  seen: new SeenGenerations(),
  learnsFrom: 'policy-versions',
});

/** Of who writes policies, pauses and deletions. Throws `CONFIG_INVALID` and `KEY_UNUSABLE`. */
export const readOperatorTrust = (given: Given, signal: AbortSignal): Promise<TrustChoice> =>
  signingTrust(given, { role: 'operator', subject: null, facts: 'off', ...learning() }, signal);

/** Of a dashboard from which people act. Throws as `readOperatorTrust`. */
export const readDashboardTrust = (given: Given, signal: AbortSignal): Promise<TrustChoice> =>
  signingTrust(given, { role: 'dashboard', subject: null, facts: 'off', ...learning() }, signal);

/** Of who brings the policies of one cluster. Throws as `readOperatorTrust`, also where its key is for another cluster. */
export const readPolicyControllerTrust = (
  given: Given,
  cluster: string,
  signal: AbortSignal,
): Promise<TrustChoice> => {
  const subject = { topic: 'clusterOwnership', recordKey: SUBJECTS.cluster.keyOf({ cluster }) } as const;
  return signingTrust(given, { role: 'policy-controller', subject, facts: 'off', ...learning() }, signal);
};

/** Of who sends orders. Throws as `readOperatorTrust`. */
export async function readDeciderTrust(given: GivenFacts, signal: AbortSignal): Promise<TrustChoice> {
  const facts = factsTrust(given);
  return await signingTrust(given, { role: 'decider', subject: null, facts, ...learning() }, signal);
}

/** Of who acts on nothing and signs nothing. Throws `CONFIG_INVALID`. */
export const readOnlookerTrust = (
  given: GivenToNobodyWhoSigns & Pick<GivenFacts, 'trustFacts'>,
): TrustChoice =>
  trustChoice(given, {
    signing: null,
    facts: factsTrust(given),
    seen: new SeenGenerations(),
    learnsFrom: null,
  });

interface GivenFacts extends Given {
  readonly trustFacts: FactsTrust;
}

function factsTrust(given: GivenToNobodyWhoSigns & Pick<GivenFacts, 'trustFacts'>): FactsTrust {
  const { trust = given.log === 'embedded' ? 'off' : undefined, trustFacts: facts } = given;
  if (facts !== 'off' && trust === 'off')
    throw configError([`--trust-facts ${facts} has no effect with --trust off`]);
  if (facts === 'required' && trust === 'warn') throw configError([FACTS_BEFORE_ORDERS]);
  return facts;
}

interface SigningNode {
  readonly node: { readonly cluster: string; readonly node: string };
  readonly seen: SeenGenerations;
}

/** Of a node, which signs its facts if it has a key. Throws as `readOperatorTrust`. */
export const readNodeTrust = (
  given: Given,
  { node, seen }: SigningNode,
  signal: AbortSignal,
): Promise<TrustChoice> => {
  const subject = { topic: 'inventory', recordKey: nodeKey(node) } as const;
  return signingTrust(given, { role: 'node', subject, facts: 'off', seen, learnsFrom: null }, signal);
};

interface SigningCluster {
  readonly cluster: string;
  readonly seen: SeenGenerations;
}

/** Of the agent or the executor of a cluster, which signs its facts if it has a key. Throws as `readOperatorTrust`. */
export async function readClusterTrust(
  given: GivenFacts,
  { cluster, seen }: SigningCluster,
  signal: AbortSignal,
): Promise<TrustChoice> {
  const subject = { topic: 'clusterOwnership', recordKey: SUBJECTS.cluster.keyOf({ cluster }) } as const;
  const facts = factsTrust(given);
  return await signingTrust(given, { role: 'cluster', subject, facts, seen, learnsFrom: null }, signal);
}

interface Signer extends Pick<Signing, 'role' | 'subject'>, Omit<Trusting, 'signing'> {}

async function signingTrust(
  { signingKeyFile, signingKeyCommand, ...given }: Given,
  { role, subject, ...trusting }: Signer,
  signal: AbortSignal,
): Promise<TrustChoice> {
  const source = privateKeySource(signingKeyFile, signingKeyCommand, 'signingKeyFile');
  const choice = trustChoice(given, { ...trusting, signing: null });
  if (choice.kind === 'off') {
    if (source === null) return choice;
    throw configError([WITHOUT_EFFECT]);
  }
  if (source !== null)
    return { ...choice, signing: { role, subject, ...(await renewableKey(source, signal)) } };
  if (choice.kind === 'warn' || signsFactsAlone(role)) return choice;
  throw configError([NEEDS_KEY]);
}

/**
 * Reading a file is cheap; a command may call a remote service.
 * @limit Periods in which a process reads its key again, from a file and from a command.
 */
const READ_AGAIN_MS: Readonly<Record<PrivateKeySource['kind'], number>> = { file: 10_000, command: 300_000 };

const renewableKey = async (
  source: PrivateKeySource,
  signal: AbortSignal,
): Promise<Pick<Signing, 'key' | 'read' | 'everyMs' | 'onReload'>> => ({
  key: await readPrivateKey(source, signal),
  read: (stop) => readPrivateKey(source, stop),
  everyMs: READ_AGAIN_MS[source.kind],
  onReload: onHangup,
});

type Trusting = Pick<
  Exclude<TrustChoice, { readonly kind: 'off' }>,
  'signing' | 'facts' | 'seen' | 'learnsFrom'
>;

function trustChoice(given: GivenToNobodyWhoSigns, trusting: Trusting): TrustChoice {
  const kind = given.trust ?? (given.log === 'embedded' ? 'off' : undefined);
  switch (kind) {
    case undefined:
      throw configError([NOT_CHOSEN]);
    case 'off':
      if (given.trustRoots === undefined) return { kind };
      throw configError([WITHOUT_EFFECT]);
    case 'required':
    case 'warn':
      if (given.trustRoots === undefined) throw configError([`--trust ${kind} needs --trust-roots`]);
      return { kind, roots: readTrustRoots(given.trustRoots), ...trusting };
  }
}

const WITHOUT_EFFECT =
  '--trust-roots and --signing-key-file or --signing-key-command have no effect with --trust off; leave them out, or say --trust warn';
const NEEDS_KEY =
  '--trust required needs --signing-key-file or --signing-key-command here: nobody would believe what is sent without a signature';
const FACTS_BEFORE_ORDERS =
  '--trust-facts required needs --trust required: with warn all counts. --trust-facts warn tells of what would not';
const NOT_CHOSEN =
  '--trust is missing. required: only what keys sign that a root vouches for counts. off: Kafka’s access rules alone say who may order what. warn: off, but it tells of what would not count. docs/operating/keys.md says how to get from off to required';

/** What a node, or the executor of a cluster, has seen over all its processes. Throws `STATE_UNREADABLE` and `STATE_UNWRITABLE`. */
export function keptGenerations(
  { trust }: Pick<Given, 'trust'>,
  state: Pick<StateFiles, 'open'>,
  logger: Logger,
  { name, bytes }: { readonly name: string; readonly bytes: number } = SEEN_GENERATIONS_FILE,
): SeenGenerations {
  if (trust === 'off' || trust === undefined) return new SeenGenerations();
  return new SeenGenerations(state.open(name, bytes, SeenFile), (error) =>
    logger.error(
      { err: toFleetGcError(error) },
      'which policies and keys were seen is known until this process ends, and not after it',
    ),
  );
}

/** For what shows what lies on the log, and what nodes and clusters report there. */
export const readingFactsOptions = {
  ...readingTrustOptions,
  trustFacts: withMeta(z.enum(['required', 'warn', 'off']).prefault('off'), {
    description:
      'With --trust-roots: whether what nodes and clusters report is shown only with the signature of a key of role node or cluster; warn counts what would not be.',
  }),
};

/** Throws `CONFIG_INVALID`. */
export function readReadingFacts({
  trustRoots,
  trustFacts,
}: {
  readonly trustRoots?: string | undefined;
  readonly trustFacts: FactsTrust;
}): FactsTrust {
  if (trustFacts !== 'off' && trustRoots === undefined)
    throw configError(['--trust-facts needs --trust-roots, which say whose keys count']);
  return trustFacts;
}

/** Whom to believe. */
export const trustRootsOption = {
  trustRoots: withMeta(FilePath, {
    description: 'File of the roots, whose keys say which other keys may sign what; "keys roots" writes it.',
  }),
};

/** For verbs that sign as a root, which may be a machine without a network. */
export const rootOptions = {
  ...trustRootsOption,
  ...rootKeyOptions,
  offline: withMeta(Switch.prefault('false'), {
    commandLineOnly: true,
    description:
      'Print the signed statement; "keys publish" brings it to the event log from another machine.',
  }),
};

export const PublicKeyArgument = withMeta(Text, {
  commandLineOnly: true,
  placeholder: 'KEY|FILE',
});

/** A public key as `keys create` prints it, or the name of a file that holds one. Throws `KEY_UNUSABLE`. */
export function publicKeyFrom(given: string): string {
  if (PublicKeyText.safeParse(given).success) return given;
  const file = readTextFile(given);
  if (file.ok) return readPublicKey(file.text, given);
  throw new FleetGcError(
    'KEY_UNUSABLE',
    `${JSON.stringify(given)} is neither a public key in base64 nor a file that can be read (${file.reason})`,
  );
}

export const FleetName = withMeta(TrustRoots.shape.fleet, {
  commandLineOnly: true,
  placeholder: 'NAME',
  description:
    'Name of the fleet; it is in every signature, so that what is signed for one fleet counts in no other.',
});
