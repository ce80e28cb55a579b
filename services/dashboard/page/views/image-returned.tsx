import type { DashboardReturned } from '../../../../schemas/reports/dashboard-images.ts';
import { objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Shown, Time } from '../parts.tsx';
import { countText } from '../texts.ts';

const EVERY_MS = 60_000;

/** What was removed for nothing. */
export function Returned() {
  const answered = useAnswer<DashboardReturned>('/api/images/returned', EVERY_MS);
  return (
    <section aria-labelledby="returned">
      <h2 id="returned">Removed, and pulled again</h2>
      <Shown answered={answered}>
        {(told) => (
          <>
            <p>
              {countText(told.returns)} of {countText(told.removals)} images that were removed in the last
              seven days came back.{' '}
              {told.knownSinceMs !== null && told.knownSinceMs <= told.fromMs ? null : (
                <KnownSince told={told} />
              )}
              The <a href="/report">report</a> tells each of them.
            </p>
            {told.images.length === 0 ? null : <ReturnedTable images={told.images} />}
          </>
        )}
      </Shown>
    </section>
  );
}

const KnownSince = ({ told: { knownSinceMs } }: { readonly told: DashboardReturned }) =>
  knownSinceMs === null ? (
    <>It is not known yet since when all is read. </>
  ) : (
    <>
      Known since <Time ms={knownSinceMs} />.{' '}
    </>
  );

function ReturnedTable({ images }: Pick<DashboardReturned, 'images'>) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">Image</th>
            <th scope="col" class="number">
              Came back
            </th>
            <th scope="col" class="number">
              Removed
            </th>
            <th scope="col" class="number">
              Nodes
            </th>
          </tr>
        </thead>
        <tbody>
          {images.map(({ id, name, returns, removals, nodes }) => (
            <tr key={id}>
              <th scope="row">
                <a href={objectAddress('image', id)}>{name ?? id}</a>
              </th>
              <td class="number">{countText(returns)}</td>
              <td class="number">{countText(removals)}</td>
              <td class="number">{countText(nodes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
