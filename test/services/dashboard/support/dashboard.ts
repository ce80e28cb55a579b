import { mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pino, { type Logger } from 'pino';
import { onTestFinished } from 'vitest';
import type { WorkerSource } from '../../../../packages/audit/events/open-source.ts';
import type { EventLog } from '../../../../packages/log/port.ts';
import type { Address } from '../../../../packages/process/options/options.ts';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import type { ProjectedLog, ProjectionSettings } from '../../../../packages/read-model/read.ts';
import { DashboardProgress } from '../../../../schemas/reports/dashboard.ts';
import type { AccessSettings } from '../../../../services/dashboard/access/access.ts';
import type { ActingPort } from '../../../../services/dashboard/actions/desk.ts';
import { runDashboard } from '../../../../services/dashboard/main.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface Dashboard {
  readonly address: Address;
  readonly url: string;
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>;
  readonly json: (path: string) => Promise<unknown>;
  /** Where it is asked how it is. */
  readonly probes: Address;
  readonly stop: () => Promise<void>;
}

export interface DashboardOptions {
  readonly access?: Partial<AccessSettings>;
  readonly now?: () => number;
  readonly path: string;
  readonly acting?: ActingPort;
  readonly simulationSource?: WorkerSource | null;
  /** Nothing is told when not given. */
  readonly logger?: Logger;
  /** Whose signatures count, and of which facts; nobody looks when not given. */
  readonly believing?: Pick<ProjectionSettings, 'roots' | 'facts'>;
  /** What the log is told to be; an embedded one when not given. */
  readonly from?: ProjectedLog;
  /** Where the page was built to; an empty one when not given. */
  readonly pageDirectory?: string;
  /** What reports are called in; that of the product when not given. */
}

/** What a page would be, for tests that look at none. */
function emptyPage(above: string): string {
  const directory = mkdtempSync(join(above, 'page-'));
  for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg'])
    writeFileSync(join(directory, name), `the file ${name}\n`);
  return directory;
}

/** A dashboard of this log in this process that ends with the test. */
export async function dashboardOf(
  log: EventLog,
  options: Partial<DashboardOptions> = {},
): Promise<Dashboard> {
  const path = options.path ?? join(temporaryDirectory(), 'projection.db');
  const dashboard = await startDashboard(log, { ...options, path });
  onTestFinished(dashboard.stop);
  return dashboard;
}

/** The same until it is told to stop, on a port that the system gives. */
export async function startDashboard(
  log: EventLog,
  {
    access,
    now = Date.now,
    path,
    acting,
    simulationSource = null,
    logger = pino({ level: 'silent' }),
    believing = { roots: null, facts: 'off' },
    from = { kind: 'embedded', log, name: 'test', path: 'test.db' },
    pageDirectory = emptyPage(dirname(path)),
  }: DashboardOptions,
): Promise<Dashboard> {
  const ending = new AbortController();
  const serving = Promise.withResolvers<{ readonly address: Address; readonly probes: Address }>();
  const ended = runDashboard(
    {
      access: {
        address: { host: '127.0.0.1', port: 0 },
        tokens: [],
        trustedProxies: [],
        userHeader: 'x-forwarded-user',
        operators: [],
        publicUrl: null,
        ...access,
      },
      probeAddress: { host: '127.0.0.1', port: 0 },
      projection: {
        from,
        ...believing,
        path,
        historyMs: 14 * DAY_MS,
        mostBytes: 64 * 1024 * 1024,
        logger,
        sources: { ...systemSources, now },
      },
      acting: acting ?? null,
      pageDirectory,
      simulationSource,
      version: '1.2.3',
      logger,
      onServing: (address, probes) => serving.resolve({ address, probes: probes ?? address }),
    },
    ending.signal,
  );
  ended.catch(serving.reject);
  const stop = async (): Promise<void> => {
    ending.abort();
    await ended;
  };
  const { address, probes } = await serving.promise;
  const url = `http://127.0.0.1:${address.port}`;
  const get = (asked: string, headers = {}): Promise<Response> => fetch(`${url}${asked}`, { headers });
  return { address, probes, url, get, json: async (asked) => (await get(asked)).json(), stop };
}

/** All that lies on the log is read. */
export async function caughtUp({ json }: Pick<Dashboard, 'json'>): Promise<void> {
  await waitUntil('the dashboard to have read the log', 20_000, async () => {
    const { isCaughtUp, topics } = DashboardProgress.parse(await json('/api/progress'));
    return (
      isCaughtUp &&
      topics.every(({ sinceMs, wantedSinceMs }) => (sinceMs ?? wantedSinceMs + 1) <= wantedSinceMs)
    );
  });
}
