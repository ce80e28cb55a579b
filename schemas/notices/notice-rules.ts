import { z } from 'zod';
import { ClusterName } from '../events/identity.ts';
import { NodeGlobs, weightOfGlobs } from '../policy/glob.ts';
import { duration, list, missingOr, section, text, wholeNumber } from '../policy/written-values.ts';
import { NoticeKind } from './notice.ts';

/** @limit Receivers in one rules file. */
const MAX_RECEIVERS = 16;
const MAX_RULES = 100;
const MAX_URL_LENGTH = 2_000;
const MAX_PATH_LENGTH = 4_096;
const LEAST_AGE_MS = 60_000;
const MOST_AGE_MS = 86_400_000;
/** @limit Default of `maxAge`. Older notices are dropped. */
const DEFAULT_AGE_MS = 3_600_000;

/** The consumer group of a receiver bears its name. */
export const ReceiverName = z
  .string({ error: missingOr('is missing: give the receiver a name of its own', 'must be text') })
  .regex(/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/, {
    error: 'must be 1 to 40 small letters, digits and dashes, starting and ending with a letter or digit',
  });

const FilePath = text('must be the path of a file').max(MAX_PATH_LENGTH, { error: 'is too long' });

/** An address as it stands in the file. Nothing of an event gets into it. */
const Address = z
  .string({ error: 'must be an address such as https://hooks.example/fleetgc' })
  .max(MAX_URL_LENGTH, { error: `must have at most ${MAX_URL_LENGTH} characters` });

const maxAge = duration
  .refine((ms) => ms >= LEAST_AGE_MS && ms <= MOST_AGE_MS, { error: 'must be from 1m to 24h' })
  .default(DEFAULT_AGE_MS)
  .describe('A notice that is older when its turn comes is dropped. 1h when not given.');

const webAddress = {
  url: Address.optional().describe('Where notices go, http or https. Redirects are not followed.'),
  urlFile: FilePath.optional().describe('File with that address, where the address itself is a secret.'),
  caFile: FilePath.optional().describe(
    'Certificates in PEM that the receiver is checked by, in place of those of the system.',
  ),
  maxAge,
};

const EXACTLY_ONE = { error: 'write url or urlFile, and not both' };
const hasOneAddress = ({
  url,
  urlFile,
}: {
  readonly url?: string | undefined;
  readonly urlFile?: string | undefined;
}): boolean => (url === undefined) !== (urlFile === undefined);

const name = ReceiverName.describe('Unique in the file; rules, metrics and the consumer group name it.');

const Webhook = section({
  name,
  type: z.literal('webhook'),
  ...webAddress,
  secretFile: FilePath.optional().describe(
    'File with the secret that signs each message as Standard Webhooks says: whsec_ and the base64 of 24 to 64 bytes. With two lines each message has two signatures.',
  ),
  tokenFile: FilePath.optional().describe(
    'File with the token that each message carries in its header Authorization, as Bearer.',
  ),
}).refine(hasOneAddress, EXACTLY_ONE);

const Slack = section({ name, type: z.literal('slack'), ...webAddress }).refine(hasOneAddress, EXACTLY_ONE);

const Kubernetes = section({
  name,
  type: z.literal('kubernetes'),
  cluster: ClusterName.describe('Notices about nodes of this cluster become Events there.'),
  kubeconfig: FilePath.describe(
    'How the API server is reached; in-cluster for the service account of the pod.',
  ),
  context: text('must be the name of a context').optional().describe('Context in the kubeconfig.'),
  maxAge,
});

export const NoticeReceiver = z.discriminatedUnion('type', [Webhook, Slack, Kubernetes], {
  error: 'type must be webhook, slack or kubernetes',
});
export type NoticeReceiver = z.infer<typeof NoticeReceiver>;

export const DEFAULT_MOST_PER_MINUTE = 20;

const Rule = section({
  name: ReceiverName.describe('Unique in the file; messages name it.'),
  kinds: list(NoticeKind)
    .min(1, { error: 'must name at least one kind' })
    .optional()
    .describe('Which notices. Without it, all.'),
  clusters: NodeGlobs.min(1, { error: 'must not be empty; leave it out for all clusters' })
    .optional()
    .describe('Clusters that notices are about. What is about none is then left out.'),
  nodes: NodeGlobs.min(1, { error: 'must not be empty; leave it out for all nodes' })
    .optional()
    .describe('Names of nodes that notices are about. What is about none is then left out.'),
  to: list(ReceiverName).min(1, { error: 'must name at least one receiver' }).describe('Names of receivers.'),
  atMostPerMinute: wholeNumber('must be a whole number')
    .min(1, { error: 'must be at least 1' })
    .max(600, { error: 'must be at most 600' })
    .default(DEFAULT_MOST_PER_MINUTE)
    .describe('So many messages a minute go to each receiver; further notices are told together in one.'),
});
export type NoticeRule = z.infer<typeof Rule>;

/**
 * Of all patterns of a file, for each receiver that they lead to: a notice is held against all of them. The longest name of a node
 * then takes no more steps than the choice of a policy may.
 */
export const MAX_WEIGHT_OF_NOTICE_GLOBS = 4_096;

const TOO_HEAVY = `the patterns of all rules together cost too much: at most ${MAX_WEIGHT_OF_NOTICE_GLOBS} characters and wildcards may follow their first wildcards, counted for each receiver of a rule; write the beginnings of names, or fewer patterns, rules or receivers`;

/** What all patterns cost that a notice may be held against (`weightOfGlob`). */
export const weightOfRules = (rules: readonly Pick<NoticeRule, 'clusters' | 'nodes' | 'to'>[]): number =>
  rules.reduce(
    (sum, { clusters = [], nodes = [], to }) =>
      sum + new Set(to).size * (weightOfGlobs(clusters) + weightOfGlobs(nodes)),
    0,
  );

/** The file that says who is told what. */
export const NoticeRules = section({
  receivers: list(NoticeReceiver)
    .min(1, { error: 'must name at least one receiver' })
    .max(MAX_RECEIVERS, { error: `has more than ${MAX_RECEIVERS} receivers` }),
  rules: list(Rule)
    .min(1, { error: 'must have at least one rule' })
    .max(MAX_RULES, { error: `has more than ${MAX_RULES} rules` })
    .refine((rules) => weightOfRules(rules) <= MAX_WEIGHT_OF_NOTICE_GLOBS, { error: TOO_HEAVY }),
});
export type NoticeRules = z.infer<typeof NoticeRules>;
