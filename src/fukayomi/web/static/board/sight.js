// On a narrow screen the board shrinks to a small one at the top when the page is scrolled past it. Its place in the page
// keeps its height, so that nothing else moves.

const NARROW = "(max-width: 759px) and (orientation: portrait)";
/** Height of the small board with its hands for each pixel of width, and beside (style/layout.css). */
const SMALL = {share: 0.6, rest: 60};

/** Follow the scrolling of the page. */
export function keepBoardInSight() {
  const narrow = matchMedia(NARROW);
  const {classList} = document.documentElement;
  const follow = () => {
    const place = document.querySelector(".left");
    const isPast =
      place instanceof HTMLElement && narrow.matches && place.getBoundingClientRect().bottom < SMALL.share * innerWidth + SMALL.rest;
    if (place instanceof HTMLElement && isPast !== classList.contains("small-board")) {
      place.style.minHeight = isPast ? `${place.offsetHeight}px` : "";
    }
    classList.toggle("small-board", isPast);
  };
  addEventListener("scroll", follow, {passive: true});
  addEventListener("resize", follow);
}
