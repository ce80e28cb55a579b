import { z } from 'zod';
import { ROLES, type Role } from '../../packages/log/access/access-rules.ts';
import { withMeta } from '../../packages/process/options/options.ts';

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
export const principalOptions = {
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
export type PrincipalChoice = z.infer<typeof PrincipalChoice>;

export const principalFlags: readonly string[] = ROLES.map((role) => `--${role}-principal`);

export const principalsOf = (options: PrincipalChoice): Readonly<Record<Role, readonly string[]>> => ({
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
