import type { Activity, ActivityKind } from '../../../../schemas/reports/dashboard.ts';
import { addressOfKey, objectAddress } from '../addresses.ts';
import { Time } from '../parts.tsx';

export const ACTIVITY_TEXT: Readonly<Record<ActivityKind, string>> = {
  ordered: 'a look was ordered',
  commanded: 'a command was sent',
  'dry-run': 'would go (dry-run)',
  removed: 'removed',
  refused: 'refused',
  failed: 'failed',
  'command-refused': 'command refused',
  'pass-failed': 'ended with errors',
  unrelieved: 'not relieved',
};

/** Lines of what was decided and done. Names and texts are others': they are text, whatever they say. */
export function ActivityTable({
  activity,
  isOfOneNode,
}: {
  readonly activity: readonly Activity[];
  readonly isOfOneNode: boolean;
}) {
  if (activity.length === 0) return <p class="quiet">Nothing in the time that is known.</p>;
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            {isOfOneNode ? null : <th scope="col">Node</th>}
            <th scope="col">What</th>
            <th scope="col">Object</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {activity.map((line) => (
            <tr key={line.id}>
              <td>
                <Time ms={line.atMs} />
              </td>
              {isOfOneNode ? null : (
                <td>
                  <a href={addressOfKey(line.node)}>{line.node}</a>
                </td>
              )}
              <td>{ACTIVITY_TEXT[line.what]}</td>
              <td>
                <ObjectOf line={line} />
              </td>
              <td>{whyText(line)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const ObjectOf = ({ line: { kind, name, object, node } }: { readonly line: Activity }) =>
  kind === null || object === null ? null : (
    <a href={objectAddress(kind, object, node)}>{`${kind} ${name ?? object}`}</a>
  );

const whyText = ({ rule, because, text }: Activity): string =>
  [rule === null ? '' : `${because ?? ''} (${rule})`, text].filter((part) => part !== '').join('; ');
