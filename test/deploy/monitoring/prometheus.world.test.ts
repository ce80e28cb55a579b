import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { DASHBOARDS, queriesOf } from '../../../deploy/monitoring/grafana/dashboards.ts';
import { startApiServer } from '../../../lab/sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../../lab/sim/api-server/cluster.ts';
import { CATALOGUE } from '../../../lab/sim/runtime/objects.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { inProcess } from '../../cli/fleetgc.ts';
import { embeddedLog } from '../../cli/service-options.ts';
import { spawnVerb } from '../../cli/service-process.ts';
import { freePort } from '../../support/container.ts';
import { type Prometheus, startPrometheus } from '../../support/prometheus.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { REPOSITORY } from '../files.ts';
import { alerts, RULE_FILES, recordings } from './rule-files.ts';

const REMOVED_MS = 120_000;
const EVALUATED_MS = 60_000;
const TOKEN = 'known';
const [MOST_DEPLOYED] = CATALOGUE;

/** A file of this test's own. */
function written(content: object): string {
  const file = join(temporaryDirectory(), 'file.yaml');
  writeFileSync(file, stringify(content));
  return file;
}

/** Starts a verb, and gives the address of its metrics. */
async function scraped(...args: readonly string[]): Promise<string> {
  const address = `127.0.0.1:${await freePort()}`;
  spawnVerb(...args, '--http-address', address);
  return address;
}

/** A simulated node, and what decides on it. */
async function startFleet(): Promise<readonly string[]> {
  const log = await embeddedLog();
  const policy = written({
    name: 'all',
    mode: 'enforce',
    imageMinimumGCAge: '1s',
    minimumCreatedContainerAge: '1s',
    maximumDeadContainersPerContainer: 0,
  });
  await inProcess(['policy', 'apply', policy, ...log]);
  // What its own people keep is refused each time that a command names it, so that something stays in every run.
  const localFile = written({ keepPatterns: [`${MOST_DEPLOYED.repository}:*`] });
  const node = ['--cluster', 'c', '--node-name', 'n', '--capacity', '2G', '--step', '200ms'];
  node.push('--local-file', localFile);
  return [await scraped('decide', ...log), await scraped('simulate-node', ...node, ...log)];
}

/** Everything about a simulated cluster. */
async function startCluster(): Promise<string> {
  const { now, newId, wait } = systemSources;
  const server = await startApiServer({ cluster: new SimulatedCluster({ now, newId }), token: TOKEN, wait });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const kubeconfig = written({
    clusters: [{ name: 'c', cluster: { server: server.url } }],
    users: [{ name: 'u', user: { token: TOKEN } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  const collectors = ['garbage-collector-controller'];
  const policy = written({ kind: 'ClusterPolicy', name: 'clusters', mode: 'enforce', collectors });
  const log = ['--log-path', join(temporaryDirectory(), 'log.db')];
  return scraped(
    ...['cluster', 'run', '--cluster', 'c1', '--kubeconfig', kubeconfig, '--policy', policy],
    ...log,
  );
}

/** Nothing of the kind has happened in this run, or pods are not counted since no policy collects them. */
const WITHOUT_SERIES: readonly string[] = [
  'fleetgc_cluster_agent_pods_terminated',
  'fleetgc_cluster_agent_pods_on_missing_nodes',
  'sum by (outcome, reason) (rate(fleetgc_cluster_executor_objects_not_done_total[$__rate_interval]))',
];

const isEmpty = async ({ series }: Prometheus, expression: string): Promise<boolean> =>
  (await series(expression.replaceAll('$__rate_interval', '1m'))) === 0;

test('every query of dashboards and rules is answered by a Prometheus that scrapes a real run', async () => {
  const targets = [...(await startFleet()), await startCluster()];
  const ruleFiles = RULE_FILES.map((file) => join(REPOSITORY, file));
  const prometheus = await startPrometheus({ targets, ruleFiles });
  const removed = 'fleetgc_executor_command_duration_seconds_count > 0';
  await waitUntil('something to be removed', REMOVED_MS, async () => !(await isEmpty(prometheus, removed)));
  const known = 'fleetgc_cluster_agent_objects';
  await waitUntil('the cluster to be known', REMOVED_MS, async () => !(await isEmpty(prometheus, known)));
  const { length: all } = [...alerts, ...recordings];
  const rules = await waitUntil('all rules to be evaluated', EVALUATED_MS, async () => {
    const found = await prometheus.rules();
    return found.length === all && found.every(({ health }) => health !== 'unknown') && found;
  });
  expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  for (const { expr } of [...alerts, ...recordings]) await prometheus.series(expr);

  const queries = DASHBOARDS.flatMap(queriesOf);
  const empty = async (): Promise<readonly string[]> => {
    const found = await Promise.all(
      queries.map(async (query) => ((await isEmpty(prometheus, query)) ? [query] : [])),
    );
    return found.flat().filter((query) => !WITHOUT_SERIES.includes(query));
  };
  // Rates want two samples.
  await waitUntil('every query to have series', EVALUATED_MS, async () => (await empty()).length === 0).catch(
    async () => expect(await empty()).toEqual([]),
  );
});
