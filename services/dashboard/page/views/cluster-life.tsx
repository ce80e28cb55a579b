import type { ClusterTimelineEntry } from '../../../../schemas/reports/cluster-explanation.ts';
import type { DashboardObjectLife } from '../../../../schemas/reports/dashboard-clusters.ts';
import { clusterObjectAddress } from '../addresses.ts';
import { kindText, nameText, REFERENCE_TEXT } from '../cluster-texts.ts';
import { Time } from '../parts.tsx';
import { countText } from '../texts.ts';

/** What `fleetgc audit explain` tells of an object. */
export function ObjectLife({ told: { explanation, leftOut } }: { readonly told: DashboardObjectLife }) {
  switch (explanation.status) {
    case 'not-found':
      return <p>The event log does not name it.</p>;
    case 'ambiguous':
      return (
        <>
          <p>Several objects have this name:</p>
          <ul>
            {explanation.candidates.map(({ cluster, uid, ...named }) => (
              <li key={uid}>
                <a href={clusterObjectAddress(cluster, uid)}>
                  {kindText(named)} {nameText(named)} ({uid})
                </a>
              </li>
            ))}
          </ul>
        </>
      );
    case 'explained':
      return (
        <>
          {leftOut === 0 ? null : (
            <p class="quiet">
              {countText(leftOut)} earlier entries are left out: <code>fleetgc audit explain</code> tells all.
            </p>
          )}
          {explanation.lives.map(({ uid, timeline }) => (
            <Timeline key={uid} timeline={timeline} />
          ))}
        </>
      );
  }
}

function Timeline({ timeline }: { readonly timeline: readonly ClusterTimelineEntry[] }) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Why, and by what</th>
          </tr>
        </thead>
        <tbody>
          {timeline.map((entry) => (
            <tr key={`${entry.record.topic} ${entry.record.offset} ${entry.what}`}>
              <td>
                <Time ms={entry.loggedAtMs} />
                {'times' in entry && entry.times > 1 ? (
                  <>
                    <br />
                    {entry.times} times, until <Time ms={entry.last.loggedAtMs} />
                  </>
                ) : null}
              </td>
              <td>{whatText(entry)}</td>
              <td>{whyText(entry)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const HOW = { first: 'reported', changed: 'reported again, changed', again: 'back' } as const;
const SETTLED = { gone: 'gone', 'no-candidate': 'nothing has to be done any more' } as const;

function whatText(entry: ClusterTimelineEntry): string {
  switch (entry.what) {
    case 'candidate':
      return `${HOW[entry.how]}${entry.isBeingDeleted ? ', being deleted' : ''}`;
    case 'owner':
      return `named as owner by ${countText(entry.dependents)}`;
    case 'verdict':
      return entry.outcome === 'commanded' || entry.outcome === 'nothing-to-do'
        ? `decided: ${entry.action}`
        : `decided: ${entry.action} (${entry.outcome})`;
    case 'command':
      return `ordered: ${entry.action}`;
    case 'result':
      return `${entry.outcome}${entry.action === null ? '' : ` (${entry.action})`}`;
    case 'settled':
      return entry.byFleetGc ? 'gone, as FleetGC deleted it' : SETTLED[entry.how];
  }
}

function whyText(entry: ClusterTimelineEntry): string {
  switch (entry.what) {
    case 'candidate':
      return entry.owners
        .map(({ kind, name, state }) => `owner ${kind} ${name} ${REFERENCE_TEXT[state]}`)
        .join('; ');
    case 'owner':
      return `it ${REFERENCE_TEXT[entry.state]}`;
    case 'verdict': {
      const policy =
        entry.policy === null ? '' : `; policy ${entry.policy.name}, version ${entry.policy.version}`;
      return `${entry.because} (${entry.rule}), by ${entry.decider}${policy}`;
    }
    case 'command':
      return `${entry.because} (${entry.rule})${entry.answered ? '' : '; no answer is known'}`;
    case 'result':
      return [entry.rule ?? '', entry.reason ?? '', entry.message ?? '']
        .filter((part) => part !== '')
        .join(': ');
    case 'settled':
      return '';
  }
}
