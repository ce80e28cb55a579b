import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { WorkerSource } from '../../packages/audit/events/open-source.ts';
import { lockFile } from '../../packages/files/file-lock.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { type Check, type ProbeServer, serveHttp } from '../../packages/process/http.ts';
import { addProcessMetrics, createMetrics } from '../../packages/process/metrics.ts';
import type { Address } from '../../packages/process/options/options.ts';
import { PeopleHistory } from '../../packages/read-model/history.ts';
import { keepFollowing, Projection } from '../../packages/read-model/model.ts';
import type { ProjectionSettings } from '../../packages/read-model/read.ts';
import {
  Access,
  type AccessSettings,
  accessWarnings,
  requireHttps,
  requireNames,
  requireSignIn,
} from './access/access.ts';
import { type ActingPort, ActionDesk } from './actions/desk.ts';
import { NewsRoom } from './api/news.ts';
import { isOlderThanItsSources, readPageFiles } from './api/page-files.ts';
import { POLICY_QUESTIONS } from './api/policies.ts';
import { listen, serve } from './api/serve.ts';
import { AnswerRoom, LogReaders, PersonBound } from './bounds.ts';
import { Readings } from './readings.ts';
import { Simulations } from './simulation/simulations.ts';

export interface DashboardSettings {
  readonly access: AccessSettings;
  /** Where `/livez`, `/readyz` and `/metrics` are; `null`: nowhere. An address of their own, so that nobody who looks takes their connections. */
  readonly probeAddress: Address | null;
  readonly projection: ProjectionSettings;
  /** Where the page was built to; `null`: where `npm run build` puts it. */
  readonly pageDirectory: string | null;
  /** With what people act from the page; `null`: nobody may, and nothing is ever written. */
  readonly acting: ActingPort | null;
  /** Where simulations read the log, in threads of their own; `null`: nothing can be simulated. */
  readonly simulationSource: WorkerSource | null;
  readonly version: string;
  readonly logger: Logger;
  /** Told once it is served. */
  readonly onServing?: (address: Address, probes: Address | null) => void;
}

/** Follows the log and serves the page until `signal` aborts. */
export async function runDashboard(settings: DashboardSettings, signal: AbortSignal): Promise<void> {
  const { access: accessSettings, version, logger, onServing } = settings;
  requireSignIn(accessSettings);
  if (settings.acting !== null) {
    requireNames(accessSettings);
    requireHttps(accessSettings);
  }
  const files = readPageFiles(settings.pageDirectory);
  if (isOlderThanItsSources(settings.pageDirectory))
    settings.logger.warn('the page is older than its sources: run "npm run build"');
  using _lock = lockFile(`${settings.projection.path}.lock`, inUse(settings.projection.path));
  using projection = new Projection(settings.projection);
  const { now, wait } = settings.projection.sources;
  await using simulations = new Simulations({ newId: randomUUID, now, logger });
  using news = new NewsRoom(projection, simulations);
  await using listening = await listen(accessSettings);
  const { address } = listening;
  const access = new Access({ ...accessSettings, address }, now());
  const history = new PeopleHistory({
    ...settings.projection,
    db: projection.store.db,
    log: projection.source.from.log,
    now: () => projection.progress().nowMs,
  });
  await using desk =
    settings.acting &&
    new ActionDesk({
      port: settings.acting,
      nodes: () => projection.nodes().nodes,
      onDone: async () => {
        history.forget();
        await projection.standing.readPolicies(signal);
      },
      logger,
      now,
    });
  const logReaders = new LogReaders(signal);
  const searches = new LogReaders(signal);
  using readings = new Readings({ now, logger });
  const { simulationSource } = settings;
  const policyQuestions = new PersonBound(POLICY_QUESTIONS);
  const simulating = { simulations, simulationSource, policyQuestions };
  const answerRoom = new AnswerRoom();
  const asked = {
    projection,
    news,
    answerRoom,
    logReaders,
    searches,
    readings,
    history,
    desk,
    ...simulating,
  };
  serve(listening, { access, files, version, logger, now, ...asked });
  logger.info({ host: address.host, port: address.port }, 'serving the page');
  for (const warning of accessWarnings(accessSettings)) logger.warn(warning);
  if (access.isOpen)
    logger.info(
      'nobody has to sign in: the page is for this machine alone, until --token-file or --trusted-proxy is given',
    );
  await using probes =
    settings.probeAddress && (await serveProbes(settings.probeAddress, projection, version));
  if (probes) logger.info({ ...probes.address }, 'serving health and metrics');
  onServing?.(address, probes?.address ?? null);
  await keepFollowing(projection, { logger, wait }, signal);
}

function serveProbes(address: Address, projection: Projection, version: string): Promise<ProbeServer> {
  const metrics = createMetrics();
  addProcessMetrics(metrics, { service: 'dashboard', version });
  const checks: readonly Check[] = [
    { name: 'event log', problem: () => projection.progress().problem },
    {
      name: 'projection',
      problem: () => (projection.progress().isCaughtUp ? null : 'the newest records are not read yet'),
    },
  ];
  return serveHttp({ address, addressOption: '--probe-address', metrics, checks: () => checks });
}

const inUse =
  (path: string) =>
  (cause: unknown): FleetGcError =>
    new FleetGcError(
      'STATE_IN_USE',
      `another process has the projection ${path}: give each replica a file of its own with --projection`,
      { cause },
    );
