#include "bindings.hpp"

NB_MODULE(_native, m) {
    m.doc() = "The native core of fukayomi: rules, encoding, search.";
    bind_shogi(m);
    bind_encode(m);
    bind_search(m);
}
