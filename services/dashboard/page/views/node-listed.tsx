import { useState } from 'preact/hooks';
import { sizeText } from '../../../../packages/text/size-text.ts';
import type { DashboardListed, ListedThing } from '../../../../schemas/reports/dashboard-object.ts';
import { objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Shown, Time } from '../parts.tsx';
import { countText } from '../texts.ts';
import { LastUsed } from './last-used.tsx';

const EVERY_MS = 60_000;
const ON_A_PAGE = 25;

interface Named {
  readonly cluster: string;
  readonly node: string;
}

/** All that the node lists in its newest inventory, the largest first, and what keeps it there. */
export function NodeListed({ cluster, node }: Named) {
  const [kind, setKind] = useState('');
  const [text, setText] = useState('');
  const [offset, setOffset] = useState(0);
  const asked = new URLSearchParams({
    cluster,
    node,
    ...(kind !== '' && { kind }),
    ...(text !== '' && { q: text }),
    offset: String(offset),
    limit: String(ON_A_PAGE),
  });
  const answered = useAnswer<DashboardListed>(`/api/node/listed?${asked}`, EVERY_MS);
  return (
    <section aria-labelledby="listed">
      <h2 id="listed">What is on it</h2>
      <Shown answered={answered}>
        {(listed) => (
          <>
            <div class="controls">
              <label>
                Kind
                <select
                  value={kind}
                  onChange={({ currentTarget: { value } }) => {
                    setKind(value);
                    setOffset(0);
                  }}
                >
                  <option value="">everything</option>
                  {listed.counts.map((count) => (
                    <option key={count.kind} value={count.kind}>
                      {count.kind} ({countText(count.objects)})
                    </option>
                  ))}
                </select>
              </label>
              <label>
                Name has
                <input
                  type="search"
                  value={text}
                  maxLength={200}
                  onInput={({ currentTarget: { value } }) => {
                    setText(value);
                    setOffset(0);
                  }}
                />
              </label>
              <button type="button" disabled={offset === 0} onClick={() => setOffset(offset - ON_A_PAGE)}>
                Before
              </button>
              <button
                type="button"
                disabled={offset + ON_A_PAGE >= listed.matching}
                onClick={() => setOffset(offset + ON_A_PAGE)}
              >
                Next
              </button>
              <span class="quiet" role="status">
                {countText(listed.matching)} objects
              </span>
            </div>
            <Things listed={listed} />
          </>
        )}
      </Shown>
    </section>
  );
}

function Things({ listed }: { readonly listed: DashboardListed }) {
  return (
    <div class="table">
      <table>
        <caption>
          As of <Time ms={listed.atMs} />, the largest first. “Why it stays” says what would keep it even if
          as much went now as the policy in force allows.
        </caption>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            <th scope="col">Name</th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col">Used last</th>
            <th scope="col">Why it stays</th>
          </tr>
        </thead>
        <tbody>
          {listed.things.map((thing) => (
            <tr key={`${thing.kind} ${thing.id}`}>
              <td>{thing.kind}</td>
              <td>
                <a href={objectAddress(thing.kind, thing.id, listed.node)}>{thing.name}</a>
              </td>
              <td class="number">{thing.sizeBytes === null ? '' : sizeText(BigInt(thing.sizeBytes))}</td>
              <td>
                {thing.kind === 'image' ? (
                  <LastUsed users={thing.usersInAll} lastUsedMs={thing.lastUsedMs} />
                ) : (
                  (thing.state ?? '')
                )}
              </td>
              <td>{whyText(thing)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function whyText({ judged }: ListedThing): string {
  if (judged === null) return '';
  const why = `${judged.because} (${judged.rule})`;
  return judged.action === 'keep' ? why : `may go: ${why}`;
}
