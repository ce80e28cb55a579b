/** A bare client that makes the lists of an agent, in pages and in the same forms; it keeps nothing. */
import { Agent, request } from 'node:https';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const { server, authority, token }: ScriptArguments['list-all'] = JSON.parse(argument);
const agent = new Agent({ keepAlive: true, ca: authority });
const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
/** What an agent reads more of than metadata. */
const WHOLE: ReadonlySet<string> = new Set(['pods', 'nodes', 'jobs', 'certificatesigningrequests']);
const VERBS = ['delete', 'list', 'watch'];
const LISTS_AT_ONCE = 4;

interface Resource {
  readonly resource: string;
  readonly verbs: readonly string[];
}
interface Group {
  readonly metadata?: { readonly name?: string };
  readonly versions: readonly { readonly version: string; readonly resources: readonly Resource[] }[];
}
interface Page {
  readonly metadata: { readonly continue?: string };
  /** None at all where there are none. */
  readonly items: readonly unknown[] | null;
}

async function get<Answer>(path: string, accept: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { accept, authorization: `Bearer ${token}` };
  request(new URL(path, server), { agent, headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    response.on('error', reject);
  })
    .on('error', reject)
    .end();
  return JSON.parse(await promise);
}

async function collections(): Promise<string[]> {
  const [core, named] = await Promise.all([
    get<{ readonly items: readonly Group[] }>('/api', DISCOVERY),
    get<{ readonly items: readonly Group[] }>('/apis', DISCOVERY),
  ]);
  return [...core.items, ...named.items].flatMap(({ metadata, versions: [preferred] }) => {
    const group = metadata?.name ?? '';
    const root = group === '' ? `/api/${preferred?.version}` : `/apis/${group}/${preferred?.version}`;
    const listed = (preferred?.resources ?? []).filter(({ verbs }) =>
      VERBS.every((verb) => verbs.includes(verb)),
    );
    return listed.map(({ resource }) => `${root}/${resource}`);
  });
}

let objects = 0;
let requests = 0;

async function list(path: string): Promise<void> {
  let next = '';
  const isWhole = WHOLE.has(path.slice(path.lastIndexOf('/') + 1));
  do {
    const query = `?limit=500${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
    const page = await get<Page>(`${path}${query}`, isWhole ? 'application/json' : METADATA);
    requests += 1;
    objects += page.items?.length ?? 0;
    next = page.metadata.continue ?? '';
  } while (next !== '');
}

const paths = await collections();
const lane = async (): Promise<void> => {
  for (let path = paths.pop(); path !== undefined; path = paths.pop()) await list(path);
};
await Promise.all(Array.from({ length: LISTS_AT_ONCE }, lane));
agent.destroy();
process.stdout.write(`${objects} objects, ${requests} requests\nready\n`);
